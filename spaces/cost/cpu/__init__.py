"""The cost model ``reuse`` for CPUs: its terms, its prices and their fit to measured times."""
