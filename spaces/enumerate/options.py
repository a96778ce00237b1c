"""The options of a space: the menus for its decisions."""

from __future__ import annotations

from typing import Literal

from attrs import field, frozen
from attrs.validators import deep_iterable, in_

from spaces.constraints.devices.device import CpuDevice, Device
from spaces.enumerate.patterns import INNER_PATTERNS, ROOT_PATTERNS

PlacementOption = Literal["inline", "root", "at"]
StorageOption = Literal["compute", "outside"]


def _positive(_: object, attribute: object, values: tuple[int, ...]) -> None:
    if not values or any(v < 1 for v in values) or len(set(values)) != len(values):
        raise ValueError(
            f"The menu {getattr(attribute, 'name', '')} needs numbers of at least 1, each once; "
            f"it has {values}."
        )


@frozen(kw_only=True)
class Options:
    """The menus of a space.

    Attributes:
        placements: where a Func other than an output may be computed: inlined, at root, at a loop
            of its consumers.
        storage: where a Func computed at a loop may be stored: at this loop only, or also at each
            legal loop outside it, where windows slide.
        root: patterns of the domain order of a Func computed at root, by name.
        inner: patterns of the domain order of a Func computed at a loop.
        row_tiles: sizes of tiles along the innermost dimension.
        tiles: sizes of tiles along other dimensions.
        lanes: vector lanes, as multiples of the lanes of a vector register of the element type.
        long: the smallest extent of a dimension to tile, or to run on several threads.
    """

    placements: tuple[PlacementOption, ...] = field(
        default=("inline", "root", "at"), validator=deep_iterable(in_(("inline", "root", "at")))
    )
    storage: StorageOption = field(default="outside", validator=in_(("compute", "outside")))
    root: tuple[str, ...] = field(
        default=("strips", "tiles"), validator=deep_iterable(in_(tuple(ROOT_PATTERNS)))
    )
    inner: tuple[str, ...] = field(
        default=("vectors",), validator=deep_iterable(in_(tuple(INNER_PATTERNS)))
    )
    row_tiles: tuple[int, ...] = field(default=(64, 128, 256, 512), validator=_positive)
    tiles: tuple[int, ...] = field(default=(8, 16, 32, 64, 128), validator=_positive)
    lanes: tuple[int, ...] = field(default=(1, 2), validator=_positive)
    long: int = 16


def default_options(device: Device) -> Options:
    """The options that people try on such a device.

    On a CPU: outputs and roots in parallel strips or tiles of vectors, producers inlined, at root
    or at any loop, with windows sliding. On a GPU: outputs and roots in blocks of threads,
    producers inlined, in kernels of their own, shared by a block or private to a thread.
    """
    if isinstance(device, CpuDevice):
        return Options()
    return Options(
        root=("blocks",),
        inner=("threads", "serial"),
        storage="compute",
        row_tiles=(16, 32, 64, 128),
        tiles=(1, 2, 4, 8, 16),
    )
