"""Random searches that must keep their promises; ``python -m tests.search_runs`` does many."""
