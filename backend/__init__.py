"""Lowering of a pipeline and its schedule to CPU and CUDA code, and running it."""
