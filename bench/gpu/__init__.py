"""Every app on a GPU: right or wrong, and how fast.

`bundle` makes a folder that holds all that a run needs: kernels, the steps of their hosts, seeds of
inputs, references, Halide's objects, and `runner` as one file. The runner needs a GPU with its
driver, Python, NumPy and ``cuda-bindings``, and nothing of this library. `command` makes a bundle
and runs it at once, where there is a GPU.
"""
