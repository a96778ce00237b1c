"""The options of a space: which decisions it has, and what each may choose from."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Literal

from attrs import evolve, field, frozen
from attrs.validators import deep_iterable, in_, instance_of

from spaces.constraints.devices.device import CpuDevice, Device
from spaces.enumerate.space.patterns.by_name import INNER_PATTERNS, LOOP_BY_LOOP, ROOT_PATTERNS
from spaces.model.directives.call_directives import FLAGS
from spaces.model.schedules.domain_order import Tail
from spaces.model.schedules.schedule import LoopAlign
from spaces.model.suggestions import suggestion

PlacementOption = Literal["inline", "root", "at"]
StorageOption = Literal["compute", "outside"]

About = Literal["loops", "entry", "several Funcs", "graph"]
"""What a directive changes: the loops of a stage, where these are decided one by one; something
else about a Func alone; something about several Funcs; or the graph of Funcs.
"""

ON_REQUEST = tuple(directive.name for directive in FLAGS.values())
"""The optional directives of no preset, such as ``memoize`` and ``async_``: no price of one call
shows what they are good for.
"""

OPTIONAL_DIRECTIVES: Mapping[str, About] = {
    "split": "loops",
    "fuse": "loops",
    "parallel": "loops",
    "vectorize": "loops",
    "unroll": "loops",
    "atomic": "loops",
    "compute_with": "several Funcs",
    "in_": "graph",
    "clone_in": "graph",
    "rfactor": "graph",
    "hoist_storage": "entry",
    "store_in": "entry",
    "reorder_storage": "entry",
    "fold_storage": "entry",
    "align_storage": "entry",
    "bound_storage": "entry",
    "bound": "entry",
    "align_bounds": "entry",
    "specialize": "loops",
    "gpu_blocks": "loops",
    "gpu_threads": "loops",
    "gpu_single_thread": "loops",
    **dict.fromkeys(ON_REQUEST, "entry"),
}
"""Directives that a space may use or leave out."""


def _truth(_: object, attribute: Any, value: object) -> None:
    if not isinstance(value, bool):
        raise TypeError(f"Options.{attribute.name} is {value!r}; it is True or False.")


def _positive(_: object, attribute: Any, values: tuple[int, ...]) -> None:
    if not values or any(v < 1 for v in values) or len(set(values)) != len(values):
        raise ValueError(
            f"The menu {attribute.name} needs numbers of at least 1, each once; it has {values}."
        )


def _patterns(_: object, attribute: Any, names: tuple[str, ...]) -> None:
    registered = ROOT_PATTERNS if attribute.name == "root" else INNER_PATTERNS
    _known(attribute.name, names, (*registered, *LOOP_BY_LOOP))
    if len(names) > 1 and (alone := [name for name in names if name in LOOP_BY_LOOP]):
        raise ValueError(
            f"Options.{attribute.name} has {', '.join(names)}; pattern {alone[0]} decides loop by "
            "loop and includes the others, so give it alone."
        )


def _directives(_: object, attribute: Any, names: tuple[str, ...]) -> None:
    _known(attribute.name, names, OPTIONAL_DIRECTIVES)


def _known(menu: str, names: Collection[str], known: Collection[str]) -> None:
    for name in names:
        if name not in known:
            raise ValueError(
                f"Options.{menu} has no {name!r}{suggestion(str(name), list(known))}; it takes "
                f"{', '.join(known)}."
            )


@frozen(kw_only=True)
class Options:
    """The options of a space. :meth:`small`, :meth:`medium`, :meth:`expert` and
    :meth:`everything` are presets.

    Attributes:
        placements: where a Func other than an output may be computed: inlined, at root, at a loop
            of its consumers.
        storage: where a Func computed at a loop may be stored: at this loop only, or also at each
            legal loop outside it, where windows slide.
        root: patterns of the domain order of a Func computed at root, by name. The pattern
            ``nests`` decides loop by loop, as experts nest loops; ``loops`` likewise, without
            limits. An output that is too small for the first pattern also has vectors or guarded
            tiles that fit it, and plain loops.
        inner: patterns of the domain order of a Func computed at a loop.
        row_tiles: in patterns, sizes of tiles along the innermost dimension; loop by loop, split
            factors of any dimension.
        tiles: in patterns, sizes of tiles along other dimensions; loop by loop, as ``row_tiles``.
        lanes: in patterns, vector lanes, as multiples of the lanes of a vector register of the
            element type. Where each lane reads another row, as in sums over rows, a half and a
            quarter of a register beside.
        block_vectors: in patterns, the widths of blocks of registers, as multiples of the lanes of
            a vector register.
        blocks: in patterns, the heights of blocks of registers.
        long: in patterns, the smallest extent of a dimension to tile, or to run on several threads.
        directives: loop by loop, the directives that a schedule may use. With any pattern, the
            other directives of :data:`OPTIONAL_DIRECTIVES`: they decide about storage, bounds,
            fused stages and the graph of Funcs.
        derivations: how many derivations of one kind may build on each other: 2 wraps wrappers,
            clones the producers of clones, and factors partial results again.
        clone_consumers: for how many consumers at most a Func has one clone.
        splits: loop by loop, how often a loop may be split: 2 makes up to three or four loops of a
            dimension.
        specializations: loop by loop, the largest number of specializations of a stage.
        tails: loop by loop, the tails of a split.
        short: the largest extent at the estimates of a dimension that is bounded, unrolled or
            vectorized whole.
        small_factors: all split factors up to this number, and its multiples of 4.
        equal_parts: split factors that divide an extent into up to so many equal parts.
        largest_factor: the largest split factor, but for those of patterns.
        folds: factors for ``fold_storage``, ``align_storage`` and ``bound_storage``.
        alignments: how iterations of a loop that ``compute_with`` fuses may run together; each
            loop has its own choice.
        exact: whether all schedules combine floats in the order of the algorithm, so that results
            are its bits (:attr:`CheckedSchedule.is_exact`). If false, sums and products of floats
            may also be ``atomic`` or factored by ``rfactor``, and loops of their minima and maxima
            come in any order. Integers have all of these in both cases.

    Raises:
        ValueError: a menu is empty, or has an unknown name or a number that makes no sense.
    """

    placements: tuple[PlacementOption, ...] = field(
        default=("inline", "root", "at"), validator=deep_iterable(in_(("inline", "root", "at")))
    )
    storage: StorageOption = field(default="outside", validator=in_(("compute", "outside")))
    root: tuple[str, ...] = field(default=("strips", "tiles"), validator=_patterns)
    inner: tuple[str, ...] = field(default=("vectors",), validator=_patterns)
    row_tiles: tuple[int, ...] = field(default=(64, 128, 256, 512), validator=_positive)
    tiles: tuple[int, ...] = field(default=(8, 16, 32, 64, 128), validator=_positive)
    lanes: tuple[int, ...] = field(default=(1, 2), validator=_positive)
    block_vectors: tuple[int, ...] = field(default=(1, 2, 4), validator=_positive)
    blocks: tuple[int, ...] = field(default=(1, 2, 3, 4, 5, 6, 8), validator=_positive)
    long: int = 16
    directives: tuple[str, ...] = field(default=(), validator=_directives)
    derivations: int = 1
    clone_consumers: int = 1
    splits: int = 2
    specializations: int = 1
    tails: tuple[Tail, ...] = field(
        default=(Tail.AUTO,), validator=deep_iterable(instance_of(Tail))
    )
    short: int = 16
    small_factors: int = 8
    equal_parts: int = 8
    largest_factor: int = 4096
    folds: tuple[int, ...] = field(default=(2, 4, 8, 16, 32), validator=_positive)
    alignments: tuple[LoopAlign, ...] = field(
        default=(LoopAlign.AUTO,), validator=deep_iterable(instance_of(LoopAlign))
    )
    exact: bool = field(default=True, validator=_truth)

    @property
    def decides_loops(self) -> bool:
        """Whether the loops of Funcs are decided one by one."""
        return any(name in LOOP_BY_LOOP for name in (*self.root, *self.inner))

    @property
    def only_patterns(self) -> bool:
        """Whether nothing is decided but placements, store levels, whole patterns of loops, and
        their factors.
        """
        return not self.decides_loops and all(
            OPTIONAL_DIRECTIVES[name] == "loops" for name in self.directives
        )

    def directives_about(self, *about: About) -> list[str]:
        """The directives that change something of these kinds."""
        return [name for name in self.directives if OPTIONAL_DIRECTIVES[name] in about]

    def of_patterns(self, device: Device) -> Options:
        """The options themselves if Funcs have whole patterns of loops. If loops are decided one by
        one, :meth:`medium`, with clones if these options have them.
        """
        if not self.decides_loops:
            return self
        medium = evolve(Options.medium(device), exact=self.exact)
        if "clone_in" not in self.directives:
            return medium
        directives = (*medium.directives, "clone_in")
        return evolve(medium, directives=directives, clone_consumers=self.clone_consumers)

    @staticmethod
    def small(device: Device) -> Options:
        """A few whole patterns for each Func: spaces that are searched quickly, and counted exactly
        if they have few Funcs.

        On a CPU, outputs and roots run in parallel strips or tiles of vectors. Producers are
        inlined, at root or at any loop, with windows sliding. On a GPU, outputs and roots run in
        blocks of threads. Producers are inlined, in kernels of their own, shared by a block or
        private to a thread. Sums and scatters may also have their terms in blocks of threads, which
        change each element in one step.
        """
        if isinstance(device, CpuDevice):
            return Options()
        return Options(
            root=("blocks", "atomic_blocks"),
            inner=("threads", "serial"),
            storage="compute",
            row_tiles=(16, 32, 64, 128),
            tiles=(1, 2, 4, 8, 16),
        )

    @staticmethod
    def medium(device: Device) -> Options:
        """All whole patterns: those of :meth:`small` and, on a CPU, unrolled channels and blocks of
        registers for sums; short dimensions may be bounded. On a GPU, grids with blocks for all
        dimensions, and threads that compute several values in registers.
        """
        small = Options.small(device)
        if not isinstance(device, CpuDevice):
            return evolve(
                small,
                root=("blocks", "grid", "thread_blocks", "thread_boxes", "atomic_blocks"),
                inner=(*small.inner, "thread_registers"),
                blocks=(2, 4, 8),
            )
        return evolve(
            small,
            root=(
                *small.root,
                "channel_strips",
                "channel_tiles",
                "interleaved_lines",
                "planes",
                "strips_across",
                "register_rows",
                "register_columns",
                "register_planes",
                "plane_sums_in_registers",
                "sums_in_registers",
            ),
            inner=(*small.inner, "channel_vectors", "registers", "vectors_across"),
            directives=("bound",),
            short=4,
        )

    @staticmethod
    def expert(device: Device) -> Options:
        """What experts write: tiles at several levels, loops nested in the orders that make sense
        (pattern ``nests``), register blocks, wrappers and clones, fused stages, bounds.
        """
        left_out = ("fold_storage", "align_storage", "bound_storage", "specialize")
        return Options(
            root=("nests",),
            inner=("nests",),
            directives=tuple(d for d in _on(device) if d not in left_out),
            tails=(Tail.AUTO, Tail.GUARD_WITH_IF, Tail.ROUND_UP),
        )

    @staticmethod
    def everything(device: Device) -> Options:
        """All loop orders and kinds, all tails, up to three splits of each loop, and all
        :data:`OPTIONAL_DIRECTIVES` but ``memoize`` and ``async_``: the space of [RK13] over finite
        menus of factors.
        """
        return Options(
            root=("loops",),
            inner=("loops",),
            directives=_on(device),
            derivations=2,
            clone_consumers=3,
            splits=3,
            specializations=2,
            tails=tuple(Tail),
            alignments=(LoopAlign.AUTO, LoopAlign.ALIGN_START, LoopAlign.ALIGN_END),
            small_factors=16,
            equal_parts=16,
        )


def _on(device: Device) -> tuple[str, ...]:
    """The optional directives of presets for a kind of device."""
    names = tuple(d for d in OPTIONAL_DIRECTIVES if d not in ON_REQUEST)
    if isinstance(device, CpuDevice):
        return tuple(d for d in names if not d.startswith("gpu_"))
    return names


def default_options(device: Device) -> Options:
    """The options of a space by default: :meth:`Options.expert`."""
    return Options.expert(device)
