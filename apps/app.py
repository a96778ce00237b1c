"""What an app is: a pipeline of the literature with all that is needed to run it and look at it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import resources
from pathlib import Path
from typing import TypeAlias

from attrs import field, frozen

from apps.fitting import output_ranges
from apps.pictures import Array, Photograph, photographed, stretched
from apps.sizes import OutputRanges
from spaces.model.algorithm.pipeline import Pipeline

InputMaker: TypeAlias = Callable[[Pipeline, Photograph], dict[str, Array]]
"""Makes an array for every image of a pipeline of a photograph of any size; the same photograph
always makes the same arrays."""

SizeRule: TypeAlias = Callable[[Pipeline, Mapping[str, OutputRanges]], dict[str, OutputRanges]]
"""The ranges of every output, for images of given ranges."""

WIDTH, HEIGHT = 1024, 768
"""Of the photograph that comes with the library."""


@frozen
class App:
    """A pipeline with what is known about it.

    Attributes:
        paper: the tag of the paper it is from; `docs/papers.md` lists them.
        pipeline: builds it, with estimates at the size of ``sized_by``.
        picture: makes something to look at of an output.
        inputs: makes the arrays it reads of a photograph.
        sizes: how large its outputs are for images of given sizes.
        paper_size: width and height of the photograph whose inputs have the size estimated.
        sized_by: the tag of the paper that measures it at that size; empty where none names one.
        shown_size: those of the photograph that it is shown on, where the one that comes with the
            library would take long.
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

    @property
    def schedules(self) -> dict[str, Path]:
        """Its hand-written schedules: file by name, such as ``cpu`` or ``gpu``."""
        folder = Path(str(resources.files("apps"))) / "schedules" / self.name
        return {path.stem: path for path in sorted(folder.glob("*.sched"))}
