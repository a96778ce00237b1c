"""The reuse analysis of [S19]: one schedule from overlaps, a tile search and segments."""
