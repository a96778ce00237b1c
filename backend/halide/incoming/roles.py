"""What each Func of a file is: a Func of its author, or one that stands for something else.

Halide makes a Func ``NAME_im`` of each ImageParam ``NAME``. The Funcs that ``in()`` and
``clone_in()`` make are in the file, but no Func calls them yet: the schedule of the Func that they
stand for tells who will.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from attrs import field, frozen

from spaces.backend.halide.file.contents import Contents, ExternalParameterTable, FuncTable
from spaces.backend.halide.file.nodes import CallNode, HalideNode, VariableNode


@frozen
class Substitute:
    """A Func that Halide calls in place of another one.

    Attributes:
        place: its own place in the file.
        of: the place of the Func for which it stands.
        readers: the names in Halide of the Funcs that read it; empty for all readers.
        is_wrapper: whether it reads that Func, as ``in()`` makes it; a clone does not.
    """

    place: int
    of: int
    readers: tuple[str, ...]
    is_wrapper: bool


@frozen
class Roles:
    """The roles of all Funcs of a file, by their places there.

    Attributes:
        images: the Funcs that are ImageParams, with the name of the ImageParam.
        substitutes: the Funcs that wrappers and clones are.
    """

    contents: Contents
    images: Mapping[int, str] = field(init=False)
    substitutes: Mapping[int, Substitute] = field(init=False)

    @images.default
    def _images(self) -> dict[int, str]:
        found = ((place, _image_of(func)) for place, func in enumerate(self.contents.funcs))
        return {place: image for place, image in found if image}

    @substitutes.default
    def _substitutes(self) -> dict[int, Substitute]:
        funcs = self.contents.funcs
        known = {"", *(func.name for func in funcs)}
        readers: dict[tuple[int, int], list[str]] = {}
        for of, func in enumerate(funcs):
            for ref in func.func_schedule.wrappers if func.func_schedule else ():
                # Halide ignores wrappers for Funcs outside of the pipeline, and so they have no
                # readers here.
                if 0 <= ref.func_index < len(funcs) and ref.func_name in known:
                    readers.setdefault((ref.func_index, of), []).append(ref.func_name)
        return {
            place: Substitute(
                place, of, tuple(name for name in names if name), _is_identity_on(funcs[place], of)
            )
            for (place, of), names in readers.items()
        }

    def inputs(self) -> Iterator[ExternalParameterTable]:
        """The ImageParams and Params. Halide counts the arrays of outputs among them if an
        expression asks for their sizes.
        """
        outputs = {name for func in self.contents.funcs for name in func.output_buffers_names}
        images = set(self.images.values())
        for one in self.contents.external_parameters:
            if one.name not in outputs or one.name in images or not one.is_buffer:
                yield one

    def authored(self) -> Iterator[tuple[int, FuncTable]]:
        """The Funcs that their author has defined, with their places."""
        for place, func in enumerate(self.contents.funcs):
            if place not in self.images and place not in self.substitutes:
                yield place, func


def _image_of(func: FuncTable) -> str:
    """The ImageParam whose values a Func has, if it is the one that Halide made for it and nobody
    has scheduled it; else an empty text.
    """
    call = _only_value(func)
    schedule = func.func_schedule
    if (
        isinstance(call, CallNode)
        and call.call_type == "Image"
        and call.param_name
        and func.name.startswith(f"{call.param_name}_im")
        and _is_identity(func, call.args)
        and schedule is not None
        and schedule.compute_level is not None
        and not schedule.compute_level.var_name
    ):
        return call.param_name
    return ""


def _is_identity_on(func: FuncTable, of: int) -> bool:
    call = _only_value(func, any_component=True)
    return isinstance(call, CallNode) and call.func_index == of and _is_identity(func, call.args)


def _only_value(func: FuncTable, any_component: bool = False) -> HalideNode | None:
    """The value of a Func with a pure definition alone; the first one if it has several."""
    if func.updates or func.init_def is None or not func.init_def.values:
        return None
    if len(func.init_def.values) > 1 and not any_component:
        return None
    return func.init_def.values[0]


def _is_identity(func: FuncTable, args: tuple[HalideNode | None, ...]) -> bool:
    """Whether coordinates are the Vars of a Func, in their order."""
    names = tuple(arg.name if isinstance(arg, VariableNode) else "" for arg in args)
    return names == func.args
