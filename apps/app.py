"""An app: a pipeline of the literature, with what is needed to run it and show its outputs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from attrs import field, frozen

from spaces.apps.output_ranges import output_ranges
from spaces.apps.pictures import Array, Photograph, photographed, stretched
from spaces.apps.sizes import OutputRanges
from spaces.model.algorithm.pipeline import Pipeline

if TYPE_CHECKING:
    from spaces.backend.halide.incoming.program import HalideProgram

InputMaker: TypeAlias = Callable[[Pipeline, Photograph], dict[str, Array]]
"""Makes an array for every image of a pipeline from a photograph of any size; the same photograph
always makes the same arrays."""

SizeRule: TypeAlias = Callable[[Pipeline, Mapping[str, OutputRanges]], dict[str, OutputRanges]]
"""The ranges of every output, for images of given ranges."""

WIDTH, HEIGHT = 1024, 768
"""The size of the photograph that comes with the library."""


@frozen
class App:
    """A pipeline with its paper, its sizes, its inputs and its picture.

    Attributes:
        paper: the tag of the paper that describes the pipeline; `docs/papers.md` lists the tags.
        pipeline: builds the pipeline, with estimates at the size of ``sized_by``.
        picture: makes a picture of an output.
        inputs: makes the input arrays from a photograph.
        sizes: gives the sizes of the outputs for images of given sizes.
        paper_size: width and height of the photograph whose inputs have the estimated size.
        sized_by: the tag of the paper that measures the pipeline at this size; empty if no paper
            gives a size.
        shown_size: width and height of the photograph for `spaces run`; smaller than the photograph
            of the library where that takes long.
        halide: gives the program of Halide that the pipeline is; None for other pipelines.
    """

    name: str
    paper: str
    summary: str
    pipeline: Callable[[], Pipeline] = field(repr=False)
    picture: Callable[[Array], Photograph] = field(repr=False, default=stretched)
    inputs: InputMaker = field(repr=False, default=photographed)
    sizes: SizeRule = field(repr=False, default=output_ranges)
    paper_size: tuple[int, int] = (WIDTH, HEIGHT)
    sized_by: str = ""
    shown_size: tuple[int, int] = (WIDTH, HEIGHT)
    halide: Callable[[], HalideProgram | None] = field(repr=False, default=lambda: None)

    @property
    def schedules(self) -> dict[str, Path]:
        """The hand-written schedules: each file under its name, such as ``cpu`` or ``gpu``."""
        folder = Path(__file__).with_name("schedules") / self.name
        return {path.stem: path for path in sorted(folder.glob("*.sched"))}
