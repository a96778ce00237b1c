"""The pipelines that come with the library, and any other that a file defines."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from importlib import resources
from pathlib import Path

from attrs import field, frozen

from apps import blur, harris, toy_blur, toy_sum, toy_trig, unsharp
from apps.errors import WrongUsage
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
    path, separator, function = name.rpartition(":")
    if not separator or not path.endswith(".py"):
        raise WrongUsage(
            f"There is no app {name!r}; there are {', '.join(APPS)}. "
            "A pipeline of your own is named file.py:function."
        )
    return App(name, "", "", _checked(name, _function(Path(path), function)))


def _function(path: Path, name: str) -> Callable[[], object]:
    if not path.is_file():
        raise WrongUsage(f"There is no file {path}.")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise WrongUsage(f"{path} is not a Python file.")
    module = importlib.util.module_from_spec(spec)
    sys.modules.setdefault(path.stem, module)
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise WrongUsage(f"{path} could not be executed: {_what(error)}") from error
    function = getattr(module, name, None)
    if not callable(function):
        raise WrongUsage(f"{path} defines no function {name}.")
    return function  # type: ignore[no-any-return]


def _checked(name: str, function: Callable[[], object]) -> Callable[[], Pipeline]:
    """``function``, whose errors and results of another kind are told in a sentence."""

    def build() -> Pipeline:
        try:
            made = function()
        except DefinitionError as error:
            raise WrongUsage(str(error)) from error
        except Exception as error:
            raise WrongUsage(f"{name} failed: {_what(error)}") from error
        if not isinstance(made, Pipeline):
            raise WrongUsage(f"{name} returned {type(made).__name__}, not a Pipeline.")
        return made

    return build


def _what(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"
