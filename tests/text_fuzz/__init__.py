"""Mutated texts and JSON documents: each is read, or refused in a sentence, within a second.

``python -m tests.text_fuzz --cases 20000 --seed 1`` checks as many texts and as many documents.
"""
