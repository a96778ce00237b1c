"""Random programs of Halide, and damaged files: Halide and this library must agree about each."""
