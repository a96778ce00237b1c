"""The apps that come with the library, and pipelines in files of the user."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spaces.apps.app import App
from spaces.apps.errors import WrongUsage
from spaces.apps.gallery.catalog import GALLERY
from spaces.apps.user_functions import (
    brief,
    functions_of,
    is_file_name,
    is_function_name,
    is_hlpipe_name,
    load_value,
    require_function,
)
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.expressions.definition_error import DefinitionError
from spaces.model.registry import PluginError, Registry
from spaces.model.suggestions import some_of, suggestion

if TYPE_CHECKING:
    from spaces.backend.halide.incoming.program import HalideProgram

_NAMES = (
    "blur",
    "unsharp",
    "harris",
    "camera_pipe",
    "bilateral_grid",
    "hist",
    "interpolate",
    "local_laplacian",
    "max_filter",
    "stencil_chain",
    "conv_layer",
    "sgemm",
    "iir_blur",
    "bgu",
    "depthwise_conv",
    "learned_demosaic",
    "lens_blur",
    "nl_means",
    "pyramid_blend",
    "vdsr",
    "toy_trig",
    "toy_blur",
    "toy_sum",
)


class _Apps(Mapping[str, App]):
    """Imports the module of an app at its first look-up."""

    def __getitem__(self, name: str) -> App:
        if name not in _NAMES:
            raise KeyError(name)
        app: App = import_module(f"spaces.apps.pipelines.{name}").APP
        return app

    def __iter__(self) -> Iterator[str]:
        return iter(_NAMES)

    def __len__(self) -> int:
        return len(_NAMES)

    def __contains__(self, name: object) -> bool:
        return name in _NAMES


APPS: Mapping[str, App] = Registry(
    "spaces.apps", "App", _Apps(), "an App", lambda thing: isinstance(thing, App)
)
"""The apps by name, such as ``APPS["blur"]``: the ``APP`` of the module with this name, or an entry
point of another package.
"""


def find(name: str) -> App:
    """The app called ``name``, the pipeline of the gallery with this name, the function that
    ``file.py:function`` names, or the pipeline of Halide in the file ``name.hlpipe``.

    Raises:
        WrongUsage: neither exists.
    """
    if name in APPS:
        try:
            return APPS[name]
        except PluginError as error:
            raise WrongUsage(str(error)) from None
    if name in GALLERY:
        return GALLERY[name].app
    if is_hlpipe_name(name):
        app: App = _halide_programs().app_of_file(name)
        return app
    if is_file_name(name):
        file = name.removesuffix(":")
        functions = functions_of(Path(file))
        raise WrongUsage(
            f"{file} may have several functions; name the one that returns the pipeline, as in "
            f"{file}:{functions[0] if functions else 'pipeline'}"
            f"{f' (it defines {some_of(functions)})' if functions[1:] else ''}."
        )
    if not is_function_name(name):
        raise WrongUsage(
            f"There is no app {name!r}{suggestion(name, [*APPS, *GALLERY], most=3)}; the apps "
            f"are {', '.join(APPS)}, and `spaces list --gallery` names more. "
            "For a pipeline of your own write file.py:function; for one that Halide has "
            "serialized, file.hlpipe."
        )
    return _app_of_function(name, _maker_of(name, load_value(name)))


def _halide_programs() -> Any:
    """The module for pipelines of Halide; most commands need nothing of what it imports."""
    return import_module("spaces.apps.halide_programs")


def _app_of_function(name: str, made: Callable[[], Pipeline | HalideProgram]) -> App:
    """The app of a function that returns a pipeline; it may be one of Halide's."""

    def pipeline() -> Pipeline:
        found = made()
        return found if isinstance(found, Pipeline) else found.pipeline

    def halide() -> HalideProgram | None:
        found = made()
        return None if isinstance(found, Pipeline) else found

    return App(name, "", "", pipeline, halide=halide)


def _maker_of(name: str, found: object) -> Callable[[], Pipeline | HalideProgram]:
    """Gives what a file defines: a pipeline, an object of Halide, or what a function returns, which
    is called once. Its errors, and other results, become a sentence.
    """
    if isinstance(found, Pipeline):
        return lambda: found
    function = None if _is_of_halide(found) else require_function(name, found)

    @cache
    def build() -> Pipeline | HalideProgram:
        try:
            made = found if function is None else function()
        except DefinitionError as error:
            raise WrongUsage(str(error)) from error
        except (Exception, SystemExit) as error:
            raise WrongUsage(f"{name} failed: {brief(error)}") from error
        if isinstance(made, Pipeline):
            return made
        if not _is_of_halide(made):
            raise WrongUsage(f"{name} returned {type(made).__name__}, not a Pipeline.")
        program: HalideProgram = _halide_programs().program_of_object(made)
        return program

    return build


def _is_of_halide(thing: object) -> bool:
    """Whether it is an object of Halide's package, a class of its generators, or a
    ``HalideProgram``.
    """
    kinds = (thing if isinstance(thing, type) else type(thing)).__mro__
    packages = ("halide", "spaces.backend.halide")
    return any(
        kind.__module__.startswith(f"{package}.") or kind.__module__ == package
        for kind in kinds
        for package in packages
    )
