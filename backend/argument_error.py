"""The error of arguments that do not fit."""

from __future__ import annotations


class ArgumentError(ValueError):
    """The arguments do not fit the pipeline; the message names the image, output or parameter."""
