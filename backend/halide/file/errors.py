"""What is wrong with a file that is to hold a pipeline of Halide."""

from __future__ import annotations


class HalideFileError(ValueError):
    """The file is damaged, is not one of Halide's, or is of a version that is not known."""
