"""The cost model ``occupancy`` for GPUs, after Listing 1 of [S20]."""
