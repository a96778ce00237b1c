"""Runs a loop nest literally, value by value: what the nest says, with every access checked.

An oracle for bounds inference, sliding windows, folding and tails that shares nothing with code
generation: storage is a dictionary, each read must find a value that was written for exactly that
coordinate, each access must lie inside its allocation.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping

from spaces import Expr, LoopNest, Pipeline
from spaces.model.expressions.expr import Call, Cast, Const, Op, Variable, walk
from spaces.model.formulas.algebra import INTEGERS
from spaces.model.nest.loopnest import Allocate, Compute, HoistedStorage, Loop, NestNode, Produce

Read = Callable[[str, tuple[int, ...]], int]


class NestError(AssertionError):
    """The nest reads or writes something it must not."""


def value_of(expr: Expr, env: Mapping[str, int], read: Read) -> int:
    """The value of an int32 expression; shared subexpressions are evaluated once."""
    if isinstance(expr, Const):
        return int(expr.value)
    if isinstance(expr, Variable):
        return env[expr.name]
    done: dict[Expr, int] = {}
    for node in walk(expr):
        values = [done[c] for c in node.children]
        match node:
            case Const():
                done[node] = int(node.value)
            case Variable():
                done[node] = env[node.name]
            case Cast():
                done[node] = node.type.wrap(values[0])
            case Call():
                done[node] = read(node.target, tuple(values))
            case Op():
                done[node] = int(INTEGERS.operators[node.name](*values))
    return done[expr]


class _Storage:
    """One allocation: where each coordinate lives and whose value is there."""

    def __init__(self, node: Allocate, env: Mapping[str, int], read: Read) -> None:
        self.name = node.func
        self.mins = [value_of(m, env, read) for m in node.mins]
        self.extents = [value_of(e, env, read) for e in node.extents]
        self.folds = [f is not None for f in node.folds]
        self.slots: dict[tuple[int, ...], tuple[tuple[int, ...], int]] = {}

    def _slot(self, at: tuple[int, ...]) -> tuple[int, ...]:
        slot = []
        for d, (x, low, extent, fold) in enumerate(
            zip(at, self.mins, self.extents, self.folds, strict=True)
        ):
            if fold:
                slot.append(x % extent)
            elif low <= x < low + extent:
                slot.append(x - low)
            else:
                raise NestError(
                    f"{self.name}{at}: dimension {d} leaves {low} .. {low + extent - 1}"
                )
        return tuple(slot)

    def write(self, at: tuple[int, ...], value: int) -> None:
        self.slots[self._slot(at)] = (at, value)

    def read(self, at: tuple[int, ...]) -> int:
        owner, value = self.slots.get(self._slot(at), (None, 0))
        if owner != at:
            raise NestError(f"{self.name}{at} is read, but its place holds {owner}")
        return value


class _Output:
    def __init__(self, name: str, env: Mapping[str, int], dimensions: int) -> None:
        self.name = name
        self.ranges = [
            (env[f"{name}.min.{d}"], env[f"{name}.extent.{d}"]) for d in range(dimensions)
        ]
        self.values: dict[tuple[int, ...], int] = {}

    def write(self, at: tuple[int, ...], value: int) -> None:
        for x, (low, extent) in zip(at, self.ranges, strict=True):
            if not low <= x < low + extent:
                raise NestError(f"output {self.name}{at} is written outside {self.ranges}")
        self.values[at] = value

    def read(self, at: tuple[int, ...]) -> int:
        if at not in self.values:
            raise NestError(f"output {self.name}{at} is read before it is written")
        return self.values[at]


class _Machine:
    def __init__(self, nest: LoopNest, env: dict[str, int], image: Read) -> None:
        self.env = env
        self.image = image
        self.images = {i.name for i in nest.pipeline.images}
        self.computed = Counter[str]()
        self.storage: dict[str, _Storage | _Output] = {
            name: _Output(name, env, len(nest.pipeline.function(name).args))
            for name in nest.pipeline.outputs
        }

    def read(self, name: str, at: tuple[int, ...]) -> int:
        return self.image(name, at) if name in self.images else self.storage[name].read(at)

    def run(self, nodes: tuple[NestNode, ...]) -> None:
        for node in nodes:
            self.step(node)

    def step(self, node: NestNode) -> None:
        match node:
            case Allocate():
                self.storage[node.func] = _Storage(node, self.env, self.read)
                self.run(node.body)
                del self.storage[node.func]
            case Produce() | HoistedStorage():
                self.run(node.body)
            case Loop():
                low = value_of(node.var.min, self.env, self.read)
                extent = value_of(node.var.extent, self.env, self.read)
                for i in range(low, low + extent):
                    self.env[node.var.var.name] = i
                    self.run(node.body)
            case Compute():
                conditions = (*(g.condition for g in node.guards), *node.predicates)
                if all(value_of(c, self.env, self.read) for c in conditions):
                    at = tuple(value_of(a, self.env, self.read) for a in node.args)
                    self.computed[node.func] += 1
                    (value,) = node.values
                    self.storage[node.func].write(at, value_of(value, self.env, self.read))


def run_nest(
    nest: LoopNest, sizes: Mapping[str, int], image: Read
) -> tuple[dict[str, dict[tuple[int, ...], int]], int]:
    """The values of each output by coordinate, and the number of computations done."""
    machine = _Machine(nest, dict(sizes), image)
    machine.run(nest.body)
    outputs = {}
    for name in nest.pipeline.outputs:
        storage = machine.storage[name]
        assert isinstance(storage, _Output)
        outputs[name] = storage.values
    return outputs, machine.computed.total()


def count_stores(nest: LoopNest, sizes: Mapping[str, int], image: Read) -> Counter[str]:
    """How many values of each Func are stored."""
    machine = _Machine(nest, dict(sizes), image)
    machine.run(nest.body)
    return machine.computed


def ideal(pipeline: Pipeline, name: str, at: tuple[int, ...], image: Read) -> int:
    """The value of a pure Func by definition: recursion, no schedule."""
    if name in {i.name for i in pipeline.images}:
        return image(name, at)
    function = pipeline.function(name)
    env = dict(zip(function.args, at, strict=True))
    (value,) = function.stages[0].values
    return value_of(value, env, lambda callee, where: ideal(pipeline, callee, where, image))
