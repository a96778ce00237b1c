"""Pipelines of the literature with their hand-written schedules, the gallery that cost models learn
from, and the command line.
"""
