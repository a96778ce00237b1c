"""The CUDA driver through one of two bindings: `cuda_bindings`, which has wheels, or `pycuda`.

`driver` holds the interface, `present` chooses the binding that can be imported.
"""
