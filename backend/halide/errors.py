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


class ApplyError(HalideFailure):
    """A schedule cannot be put on objects of Halide, which are as they were.

    Attributes:
        reasons: all reasons, each as a sentence.
    """

    def __init__(self, pipeline: str, reasons: tuple[str, ...]) -> None:
        shown = "".join(f"\n- {reason}" for reason in reasons)
        super().__init__(f"The schedule cannot be applied to {pipeline} in Halide:{shown}")
        self.reasons = reasons


class AppliedOtherwiseError(HalideFailure):
    """The objects of Halide have another schedule than that which was applied.

    Attributes:
        differences: all differences, each as a sentence.
    """

    def __init__(self, pipeline: str, differences: tuple[str, ...]) -> None:
        shown = "".join(f"\n- {difference}" for difference in differences)
        super().__init__(
            f"{pipeline} has another schedule in Halide than that which was applied; build the "
            f"Funcs anew, because Halide cannot undo directives:{shown}"
        )
        self.differences = differences
