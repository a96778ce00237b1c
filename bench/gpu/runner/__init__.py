"""Checks and times what a bundle holds.

These files need the standard library, NumPy and ``cuda-bindings``, and of this library only the
files that go into the bundle with them; see `bench.gpu.packing`.
"""
