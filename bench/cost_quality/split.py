"""What measurements may be used for: prices are fitted on some kinds of pipelines, chosen between
on others, and judged on those that neither has seen.

The split was drawn once, before anything was fitted. Of the kinds that no app of the library
resembles, chance took eight to be judged; of all others, four to choose by.
"""

from __future__ import annotations

from argparse import ArgumentTypeError
from collections.abc import Iterable
from enum import StrEnum

from spaces.apps.gallery.catalog import GALLERY
from spaces.apps.gallery.kind import PipelineKind
from spaces.model.suggestions import suggestion


class Use(StrEnum):
    """What the measurements of a pipeline are used for."""

    LEARN = "learn"
    """Prices are fitted to them."""
    CHOOSE = "choose"
    """They choose between fits: which terms, how many steps."""
    JUDGE = "judge"
    """They say how well prices hold for pipelines that nobody looked at."""


USES = {
    PipelineKind.ATTENTION: Use.CHOOSE,
    PipelineKind.BILATERAL: Use.CHOOSE,
    PipelineKind.BUTTERFLIES: Use.JUDGE,
    PipelineKind.CAMERA: Use.CHOOSE,
    PipelineKind.COLOURS: Use.LEARN,
    PipelineKind.CONVOLUTIONS: Use.LEARN,
    PipelineKind.FILTERED_PRODUCTS: Use.LEARN,
    PipelineKind.FILTERS: Use.LEARN,
    PipelineKind.HISTOGRAMS: Use.LEARN,
    PipelineKind.LOOKUPS: Use.JUDGE,
    PipelineKind.MATCHING: Use.LEARN,
    PipelineKind.MATRIX_PRODUCTS: Use.LEARN,
    PipelineKind.MORPHOLOGY: Use.LEARN,
    PipelineKind.NORMALISATION: Use.LEARN,
    PipelineKind.POINTWISE: Use.JUDGE,
    PipelineKind.POOLING: Use.JUDGE,
    PipelineKind.PYRAMIDS: Use.LEARN,
    PipelineKind.REDUCTIONS: Use.JUDGE,
    PipelineKind.RESAMPLING: Use.LEARN,
    PipelineKind.SCANS: Use.CHOOSE,
    PipelineKind.SORTING: Use.JUDGE,
    PipelineKind.TIME_STENCILS: Use.LEARN,
    PipelineKind.TRANSPOSES: Use.JUDGE,
    PipelineKind.WARPS: Use.JUDGE,
}


class JudgedPipelineError(Exception):
    """Pipelines that only judge were to be learned from; the message names them."""


def pipelines_to(use: Use) -> list[str]:
    """The names of the pipelines of the gallery with a use."""
    return [name for name, one in GALLERY.items() if USES[one.kind] is use]


def refuse_judged(names: Iterable[str]) -> None:
    """Raises if prices would be fitted to, or chosen by, pipelines that only judge.

    Raises:
        JudgedPipelineError: one of the names is of a kind that is judged.
    """
    judged = sorted(set(names) & set(pipelines_to(Use.JUDGE)))
    if judged:
        kinds = sorted({str(GALLERY[name].kind) for name in judged})
        raise JudgedPipelineError(
            f"{', '.join(judged)} must not be fitted to: of the kinds {', '.join(kinds)} "
            "measurements only judge. Leave them out."
        )


def gallery_name(text: str) -> str:
    """The name of a pipeline of the gallery, as an argument of a command.

    Raises:
        ArgumentTypeError: the gallery has no such pipeline.
    """
    if text not in GALLERY:
        raise ArgumentTypeError(
            f"the gallery has no pipeline {text}{suggestion(text, GALLERY)}; "
            "`spaces list --gallery` names all"
        )
    return text
