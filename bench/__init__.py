"""Side-by-side measurements; ``python -m bench`` makes ``bench/results`` and the pages' tables."""
