"""Errors on Halide's side, each with Halide's own message."""

from __future__ import annotations

from spaces.model.extras import how_to_install


class HalideFailure(Exception):
    """Halide refused a pipeline, a schedule or a run."""


class HalideMissingError(HalideFailure, ImportError):
    """Halide's Python package is not installed."""

    def __init__(self) -> None:
        super().__init__(
            "Halide's Python package is not installed; install the extra: "
            f"{how_to_install('halide')}."
        )


class DirectiveError(HalideFailure):
    """Halide refused a definition or directive when it was made."""


class LoweringError(HalideFailure):
    """Halide refused the schedule when it compiled the pipeline."""


class RealizationError(HalideFailure):
    """The compiled pipeline refused its arguments, or failed while it ran."""


class HalideCrash(HalideFailure):
    """The process that ran Halide died."""


class HalideTimeout(HalideFailure):
    """Halide took longer than the time limit."""
