"""The pipelines that come with the library, and any other that a file defines."""

from __future__ import annotations

from collections.abc import Callable
from importlib import resources
from pathlib import Path

from attrs import field, frozen

from apps import blur, harris, toy_blur, toy_sum, toy_trig, unsharp
from apps.errors import WrongUsage
from apps.loading import is_function_name, load_function, told
from apps.pictures import Array, Photograph, clipped, compressed, stretched
from spaces.model.func import DefinitionError
from spaces.model.pipeline import Pipeline


@frozen
class App:
    """A pipeline with what is known about it.

    Attributes:
        paper: the tag of the paper it is from; `docs/papers.md` lists them.
        pipeline: builds it, with estimates at the paper's size.
        picture: makes something to look at of its output.
    """

    name: str
    paper: str
    summary: str
    pipeline: Callable[[], Pipeline] = field(repr=False)
    picture: Callable[[Array], Photograph] = field(repr=False, default=stretched)

    @property
    def schedules(self) -> dict[str, Path]:
        """Its hand-written schedules: file by name, such as ``cpu`` or ``gpu``."""
        folder = Path(str(resources.files("apps"))) / "schedules" / self.name
        return {path.stem: path for path in sorted(folder.glob("*.sched"))}


APPS: dict[str, App] = {
    app.name: app
    for app in (
        App("blur", "[RK13]", "3x3 box blur in two passes, uint16", blur.pipeline, clipped),
        App("unsharp", "[S20]", "sharpening by a 7x7 Gaussian, RGB", unsharp.pipeline, clipped),
        App("harris", "[S20]", "Harris corner response", harris.pipeline, compressed),
        App("toy_trig", "[TOY]", "benchmark 1: 2x2 sums of square roots", toy_trig.pipeline),
        App("toy_blur", "[TOY]", "benchmark 2: two means along x", toy_blur.pipeline, clipped),
        App("toy_sum", "[TOY]", "benchmark 3: x + y", toy_sum.pipeline),
    )
}


def find(name: str) -> App:
    """The app called ``name``, or the function that ``file.py:function`` names.

    Raises:
        WrongUsage: there is neither.
    """
    if name in APPS:
        return APPS[name]
    if not is_function_name(name):
        raise WrongUsage(
            f"There is no app {name!r}; there are {', '.join(APPS)}. "
            "A pipeline of your own is named file.py:function."
        )
    return App(name, "", "", _checked(name, load_function(name)))


def _checked(name: str, function: Callable[[], object]) -> Callable[[], Pipeline]:
    """``function``, whose errors and results of another kind are told in a sentence."""

    def build() -> Pipeline:
        try:
            made = function()
        except DefinitionError as error:
            raise WrongUsage(str(error)) from error
        except Exception as error:
            raise WrongUsage(f"{name} failed: {told(error)}") from error
        if not isinstance(made, Pipeline):
            raise WrongUsage(f"{name} returned {type(made).__name__}, not a Pipeline.")
        return made

    return build
