"""Runs a loop nest at given sizes, and follows which coordinate lies in which place; no values.

A run confirms a fault that an only sufficient formula suspects. Concurrent iterations run last to
first: a permitted order, and the one least like a loop.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import product

from attrs import define, field, frozen

from spaces.constraints.obligations.sites import Site, Subject
from spaces.constraints.proofs.coverage import asked_for
from spaces.model.expressions.expr import Const, Expr, Op, Variable
from spaces.model.formulas.algebra import INTEGERS
from spaces.model.formulas.interval import Box
from spaces.model.nest.loopnest import Allocate, Compute, HoistedStorage, Loop, NestNode, Produce

_modulo = INTEGERS.operators["mod"]

MAX_STEPS = 400_000
"""The most accesses that a run follows."""

Env = dict[str, int]
Coordinate = tuple[int, ...]
Evaluator = Callable[[Env], int]
Locator = Callable[[Env], Coordinate]


@frozen
class TraceFault:
    """``buffer`` at ``coordinate`` is read before it is computed, or never computed."""

    buffer: str
    coordinate: Coordinate
    iteration: dict[str, int]


class NotFollowedError(Exception):
    """The nest needs values to run, or more steps than allowed."""


def trace(subject: Subject, sizes: Mapping[str, int]) -> dict[str, TraceFault]:
    """The first fault of each buffer when a nest runs at ``sizes``.

    Raises:
        NotFollowedError: coordinates depend on values, or the sizes are too large.
    """
    run = _Run(subject, {**_zeros(subject), **sizes})
    run.body(subject.nest.body)
    run.finish()
    return run.faults


def _zeros(subject: Subject) -> Env:
    pipeline = subject.nest.pipeline
    dimensions = {n: len(pipeline.function(n).args) for n in pipeline.outputs}
    dimensions |= {i.name: i.dimensions for i in pipeline.images}
    zeros = {f"{b}.min.{d}": 0 for b, count in dimensions.items() for d in range(count)}
    return {**zeros, **{s.name: 0 for s in pipeline.scalars}}


@define
class _Run:
    """The state of a run: where each coordinate of each buffer lies."""

    subject: Subject
    env: Env
    faults: dict[str, TraceFault] = field(factory=dict)
    steps: int = 0
    _places: dict[str, dict[Coordinate, Coordinate]] = field(factory=dict)
    _folds: dict[str, tuple[int | None, ...]] = field(factory=dict)
    _numbers: dict[Expr, Evaluator] = field(factory=dict)
    _sites: dict[int, tuple[Site, Locator, list[tuple[str, Locator]]]] = field(factory=dict)
    _asked: dict[int, tuple[Expr, ...]] = field(factory=dict)
    _visited: dict[tuple[str, int], set[Coordinate]] = field(factory=dict)

    def __attrs_post_init__(self) -> None:
        for site in self.subject.sites:
            reads = [
                (r.buffer, self._locator(r.args))
                for r in site.reads
                if r.buffer not in self.subject.images
            ]
            self._asked[id(site.compute)] = (
                asked_for(self.subject, site) if site.compute.stage > 0 else ()
            )
            self._sites[id(site.compute)] = (site, self._locator(site.write.args), reads)
        for name in self.subject.nest.pipeline.outputs:
            self._places[name] = {}
            args = self.subject.nest.pipeline.function(name).args
            self._folds[name] = (None,) * len(args)

    def body(self, nodes: tuple[NestNode, ...]) -> None:
        """Runs nodes in order."""
        for node in nodes:
            match node:
                case Loop():
                    self._loop(node)
                case Allocate():
                    self._places[node.func] = {}
                    self._folds[node.func] = tuple(
                        None if f is None else self._value(f) for f in node.folds
                    )
                    self.body(node.body)
                    del self._places[node.func]
                case HoistedStorage():
                    self.body(node.body)
                case Produce():
                    self._produce(node)
                case Compute():
                    self._compute(node)

    def _loop(self, node: Loop) -> None:
        name = node.var.var.name
        low = self._value(node.var.min)
        iterations = range(low, low + self._value(node.var.extent))
        for i in reversed(iterations) if node.var.kind.is_concurrent else iterations:
            self.env[name] = i
            self.body(node.body)
        self.env.pop(name, None)

    def _produce(self, node: Produce) -> None:
        stages = self.subject.nest.placements[node.func].function.stages
        for index in range(1, len(stages)):
            self._visited[node.func, index] = set()
        self.body(node.body)
        for index in range(1, len(stages)):
            for point in self._domain(node.func, index):
                if point not in self._visited[node.func, index]:
                    self._fault(node.func, point)
                    break

    def _compute(self, node: Compute) -> None:
        site, write, reads = self._sites[id(node)]
        if not all(self._number(g)(self.env) for g in site.guards):
            return
        if node.stage > 0:
            self._visited.setdefault((node.func, node.stage), set()).add(self._point(site))
        if not all(self._number(p)(self.env) for p in site.predicates):
            return
        self.steps += 1 + len(reads)
        if self.steps > MAX_STEPS:
            raise NotFollowedError(
                f"It takes more than {MAX_STEPS} accesses to run the nest there."
            )
        at_point = all(self._number(c)(self.env) for c in self._asked[id(node)])
        for buffer, locate in reads:
            at = locate(self.env)
            if buffer == node.func and not at_point:
                continue
            if self._places.get(buffer, {}).get(self._slot(buffer, at)) != at:
                self._fault(buffer, at)
        at = write(self.env)
        self._places.setdefault(node.func, {})[self._slot(node.func, at)] = at

    def finish(self) -> None:
        """Notes outputs that are not computed everywhere."""
        for name in self.subject.nest.pipeline.outputs:
            counts = range(len(self.subject.nest.pipeline.function(name).args))
            ranges = [
                range(low, low + self.env[f"{name}.extent.{d}"])
                for d in counts
                for low in (self.env[f"{name}.min.{d}"],)
            ]
            for at in product(*ranges):
                if self._places[name].get(at) != at:
                    self._fault(name, at)
                    break

    def _fault(self, buffer: str, at: Coordinate) -> None:
        if buffer not in self.faults:
            loops = self.subject.loop_names
            iteration = {n: v for n, v in self.env.items() if n in loops}
            self.faults[buffer] = TraceFault(buffer, at, iteration)

    def _slot(self, buffer: str, at: Coordinate) -> Coordinate:
        folds = self._folds.get(buffer, (None,) * len(at))
        return tuple(x if f is None else _modulo(x, f) for x, f in zip(at, folds, strict=True))

    def _point(self, site: Site) -> Coordinate:
        compute = site.compute
        placement = self.subject.nest.placements[compute.func]
        visited = placement.stages[compute.stage].coordinates
        names = placement.function.stages[compute.stage].dimensions
        return tuple(self._value(visited[n]) for n in names)

    def _domain(self, func: str, index: int) -> Iterator[Coordinate]:
        placement = self.subject.nest.placements[func]
        stage = placement.function.stages[index]
        target: Box = placement.storage.target
        boxes = dict(zip(placement.function.args, target, strict=True))
        ranges = []
        for rvar in stage.rvars:
            low = self._value(rvar.min)
            ranges.append(range(low, low + self._value(rvar.extent)))
        for name in stage.pure_vars:
            low_end, high_end = boxes[name].min, boxes[name].max
            if low_end is not None and high_end is not None:
                ranges.append(range(self._value(low_end), self._value(high_end) + 1))
        return product(*ranges)

    def _value(self, expr: Expr) -> int:
        return self._number(self.subject.opaque.formula(expr))(self.env)

    def _locator(self, args: tuple[Expr, ...]) -> Locator:
        numbers = [self._number(a) for a in args]
        return lambda env: tuple([n(env) for n in numbers])

    def _number(self, formula: Expr) -> Evaluator:
        """A formula as a function of the variables."""
        if formula not in self._numbers:
            self._numbers[formula] = self._made(formula)
        return self._numbers[formula]

    def _made(self, formula: Expr) -> Evaluator:
        if isinstance(formula, Const):
            value = int(formula.value)
            return lambda env: value
        if isinstance(formula, Variable):
            name = formula.name
            if name in self.subject.opaque.meaning:
                text = str(self.subject.opaque.meaning[name])
                return lambda env: _refuse(text)
            return lambda env: env[name]
        if not isinstance(formula, Op):
            return lambda env: _refuse(str(formula))
        apply = INTEGERS.operators[formula.name]
        parts = [self._number(a) for a in formula.args]
        if len(parts) == 2:
            first, second = parts
            return lambda env: apply(first(env), second(env))
        return lambda env: apply(*(p(env) for p in parts))


def _refuse(text: str) -> int:
    raise NotFollowedError(f"Running the nest there needs the value of {text}.")
