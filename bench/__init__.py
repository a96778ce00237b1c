"""Side-by-side measurements; ``python -m bench`` makes ``bench/results`` and README's table."""
