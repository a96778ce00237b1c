"""Our verdict against Halide's, on schedules that are legal, illegal, and in between.

``python -m tests.halide_corpus`` runs all of them; the tests replay some and hold the record.
"""
