"""Code for CPUs and GPUs: lowering, printing, compiling, running and measuring it; the NumPy
reference; and the bridge to Halide.
"""
