"""Arrays that callers give, in the memory of the CPU or of a GPU."""
