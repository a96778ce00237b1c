"""A loop nest run value by value over memory that knows who wrote what.

An access outside an allocation, an image or an output is wrong at once. What may be anything is
garbage: a value that was not computed, one whose place holds another by then, one that iterations
which run at once disagree about. Tails may compute with it; what nobody may do is let it into an
output, or into a coordinate that then leaves its storage.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from attrs import define, field
from numpy.typing import NDArray

from spaces import Expr, LoopKind, LoopNest, Type
from spaces.model.algorithm.pipeline import Function
from spaces.model.expressions.expr import Call
from spaces.model.nest.loopnest import Allocate, Compute, HoistedStorage, Loop, NestNode, Produce
from tests.differential.python_code import MEANINGS, Names, same, source

Task = tuple[tuple[int, int], ...]
"""Which iteration of each loop around that runs its iterations at once: (instance, iteration)."""

AT_ONCE = (LoopKind.PARALLEL, LoopKind.VECTORIZED, LoopKind.GPU_BLOCK, LoopKind.GPU_THREAD)

MOST_STEPS = 60_000
"""Iterations after which a run is given up."""

_DEEPEST = 12
"""Loops in one Python function, which allows twenty."""


class Trouble(Exception):
    """Something that must not happen; ``kind`` is one of a few words for it."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(f"{kind}: {message}")
        self.kind = kind


class TooLong(Exception):
    """The run takes more steps than are given to it."""


def are_concurrent(a: Task, b: Task) -> bool:
    """Whether nothing orders two tasks: they are iterations of one instance of a loop."""
    for p, q in zip(a, b, strict=False):
        if p != q:
            return p[0] == q[0]
    return False


@define
class ShadowMemory:
    """What all storage of one run shares: which garbage there is, and whether any was read.

    ``found`` has the first occasion of each kind, in order.
    """

    negative: bool
    found: dict[str, str] = field(factory=dict)

    def garbage(self, type: Type, kind: str, message: str) -> Any:
        """A value of ``type`` that nothing computes, noting why it is read."""
        self.found.setdefault(kind, message)
        if type.is_bool:
            return self.negative
        if type.is_float:
            return -7919.0 if self.negative else 7919.0
        return type.min_value + 3 if self.negative else type.max_value - 5


class Storage:
    """The places of one Func; each holds a coordinate, its value, and who wrote and read it."""

    def __init__(
        self,
        memory: ShadowMemory,
        function: Function,
        mins: Sequence[int],
        extents: Sequence[int],
        folds: Sequence[bool],
    ) -> None:
        self.name, self.types, self.memory = function.name, function.types, memory
        self.limits = tuple(
            (low, low + extent, extent if fold else 0)
            for low, extent, fold in zip(mins, extents, folds, strict=True)
        )
        self.folded = any(folds)
        self.places: dict[tuple[int, ...], tuple[Any, Any, list[Task], list[Task]]] = {}

    def _place(self, at: tuple[int, ...]) -> tuple[int, ...]:
        for x, (low, end, fold) in zip(at, self.limits, strict=True):
            if not fold and not low <= x < end:
                raise Trouble("outside", f"{self.name}{at} is not in its storage {self.limits}")
            if fold < 0:
                raise Trouble("outside", f"{self.name} has storage of {fold} values")
        if not self.folded:
            return at
        return tuple(x % f if f else x for x, (_, _, f) in zip(at, self.limits, strict=True))

    def _garbage(self, kind: str, message: str) -> Any:
        """A value that nothing computes; of a Tuple, one for each component."""
        values = tuple(self.memory.garbage(type, kind, message) for type in self.types)
        return values if len(values) > 1 else values[0]

    def write(self, at: tuple[int, ...], value: Any, task: Task) -> None:
        """Store a value at a coordinate; that of a Tuple has all its components."""
        place = self._place(at)
        known = self.places.get(place)
        if known is not None:
            owner, old, writers, readers = known
            if owner == at and same(old, value):
                if task not in writers:
                    writers.append(task)
                return
            if any(r is not task and are_concurrent(r, task) for r in readers):
                raise Trouble("race", f"{self.name}{at} is read by one iteration, set by another")
            if any(w is not task and are_concurrent(w, task) for w in writers):
                message = f"{self.name}{at} is set by two iterations at once"
                value = self._garbage("race", message)
        self.places[place] = (at, value, [task], [])

    def read(self, at: tuple[int, ...], task: Task) -> Any:
        """The value stored for a coordinate."""
        known = self.places.get(self._place(at))
        if known is None:
            message = f"{self.name}{at} is read before it is computed"
            return self._garbage("never computed", message)
        owner, value, writers, readers = known
        if owner != at:
            message = f"{self.name}{at} is read where {owner} is by now"
            return self._garbage("overwritten", message)
        if writers[-1] is not task and all(are_concurrent(w, task) for w in writers):
            message = f"{self.name}{at} is read by an iteration run with its writer"
            return self._garbage("race", message)
        if not readers or readers[-1] is not task:
            readers.append(task)
        return value


class Picture:
    """An image that knows its limits."""

    def __init__(self, name: str, values: NDArray[Any], place: Sequence[tuple[int, int]]) -> None:
        self.name = name
        self.place = tuple(place)
        self.values = values.reshape(-1).tolist()

    def read(self, at: tuple[int, ...], task: Task) -> Any:
        """The value at a coordinate."""
        index, stride = 0, 1
        for x, (low, extent) in zip(at, self.place, strict=True):
            if not low <= x < low + extent:
                raise Trouble("image", f"{self.name}{at} is read outside of {self.place}")
            index, stride = index + (x - low) * stride, stride * extent
        return self.values[index]


class Shadow:
    """A loop nest as a Python function."""

    def __init__(self, nest: LoopNest) -> None:
        self.nest = nest
        self.names = Names()
        self._lines: list[str] = []
        self._instances = 0
        self._functions = 0
        self._nodes(nest.body, 1, 0)
        head = ["def run(E, S, M, spend, instance):", "    task = ()"]
        head += [
            f"    {python} = E[{name!r}]"
            for name, python in self.names.items()
            if name not in self._bound
        ]
        text = "\n".join((*head, *self._lines, "    return S"))
        functions = {name: p.function for name, p in nest.placements.items()}
        space: dict[str, Any] = {**MEANINGS, "Storage": Storage}
        space["F"] = functions
        exec(compile(text, "<nest>", "exec"), space)
        self._run: Callable[..., dict[str, Storage]] = space["run"]

    @property
    def _bound(self) -> set[str]:
        return {
            loop.var.name
            for placement in self.nest.placements.values()
            for traversal in placement.stages
            for loop in traversal.loops
        }

    def run(
        self,
        values: Mapping[str, int | float],
        pictures: Mapping[str, Picture],
        memory: ShadowMemory,
    ) -> dict[str, Storage]:
        """The storage of the outputs after a run.

        Args:
            values: the size variables and scalar parameters.
            pictures: the images.
            memory: what to note reads of garbage in.

        Raises:
            Trouble: something is wrong with the nest.
            TooLong: it takes too many steps.
        """
        left = MOST_STEPS

        def spend(steps: int) -> int:
            nonlocal left
            left -= max(1, steps)
            if left < 0:
                raise TooLong
            return steps

        stores: dict[str, Any] = dict(pictures)
        for name in self.nest.pipeline.outputs:
            function = self.nest.pipeline.function(name)
            dimensions = range(len(function.args))
            stores[name] = Storage(
                memory,
                function,
                [int(values[f"{name}.min.{d}"]) for d in dimensions],
                [int(values[f"{name}.extent.{d}"]) for d in dimensions],
                [False for _ in dimensions],
            )
        self._run(values, stores, memory, spend, itertools.count().__next__)
        return {name: stores[name] for name in self.nest.pipeline.outputs}

    def _nodes(self, nodes: tuple[NestNode, ...], indent: int, loops: int) -> None:
        for node in nodes:
            self._node(node, indent, loops)

    def _node(self, node: NestNode, indent: int, loops: int) -> None:
        pad = "    " * indent
        match node:
            case Produce() | HoistedStorage():
                self._nodes(node.body, indent, loops)
            case Allocate():
                mins = [self._value(e, pad) for e in node.mins]
                extents = [self._value(e, pad) for e in node.extents]
                folds = [f is not None for f in node.folds]
                lists = f"[{', '.join(mins)}], [{', '.join(extents)}], {folds}"
                made = f"Storage(M, F[{node.func!r}], {lists})"
                self._lines.append(f"{pad}S[{node.func!r}] = {made}")
                self._nodes(node.body, indent, loops)
            case Loop():
                self._loop(node, indent, loops)
            case Compute():
                for test in (*(g.condition for g in node.guards), *node.predicates):
                    condition = self._value(test, pad)
                    self._lines.append(f"{pad}if {condition}:")
                    pad += "    "
                at = self._tuple([self._value(a, pad) for a in node.args])
                values = [self._value(v, pad) for v in node.values]
                value = values[0] if len(values) == 1 else self._tuple(values)
                self._lines.append(f"{pad}S[{node.func!r}].write({at}, {value}, task)")

    def _loop(self, node: Loop, indent: int, loops: int) -> None:
        pad, inner = "    " * indent, indent + 1
        low, extent = self._value(node.var.min, pad), self._value(node.var.extent, pad)
        name = self.names(node.var.var.name)
        in_one_step = node.var.stage in self.nest.schedule.of(node.var.func).atomic
        at_once = node.var.kind in AT_ONCE and not in_one_step
        number = self._instances = self._instances + 1
        if at_once:
            self._lines.append(f"{pad}outer{number}, number{number} = task, instance()")
        self._lines.append(f"{pad}low{number} = {low}")
        steps = f"range(low{number}, low{number} + spend({extent}))"
        self._lines.append(f"{pad}for {name} in {steps}:")
        if at_once:
            self._lines.append(f"{pad}    task = (*outer{number}, (number{number}, {name}))")
        if (loops + 1) % _DEEPEST == 0:
            self._functions += 1
            function = f"inner{self._functions}"
            self._lines += [f"{pad}    def {function}(task):"]
            self._nodes(node.body, inner + 1, loops + 1)
            self._lines += [f"{pad}        pass", f"{pad}    {function}(task)"]
        else:
            self._nodes(node.body, inner, loops + 1)
            self._lines.append(f"{pad}    pass")
        if at_once:
            self._lines.append(f"{pad}task = outer{number}")

    def _value(self, expr: Expr, pad: str) -> str:
        return source(expr, self.names, self._read, self._lines, pad)

    def _read(self, node: Expr, parts: list[str]) -> str:
        if not isinstance(node, Call):
            raise TypeError(f"{node!r} is no expression of a loop nest")
        component = "" if node.component is None else f"[{node.component}]"
        return f"S[{node.target!r}].read({self._tuple(parts)}, task){component}"

    @staticmethod
    def _tuple(parts: list[str]) -> str:
        return f"({', '.join(parts)}{',' if len(parts) == 1 else ''})"
