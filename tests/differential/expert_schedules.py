"""Schedules as experts write them: stages in blocks of registers, whose lanes and copies lie inside
or outside of the terms that they add, and producers in any loop around their uses.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

from attrs import define, field

from spaces import Directives, Pipeline, Schedule, schedule
from spaces.model.algorithm.pipeline import Function
from spaces.model.schedules.domain_order import Tail
from tests.differential.schedules import place_func, place_func_deep, tails_of

_MOST_COPIES = 12
"""Copies of a stage: more only takes LLVM longer."""


def expert_schedule(rng: random.Random, pipeline: Pipeline) -> Schedule:
    """A schedule for a CPU, which need not be legal."""
    directives = schedule(pipeline)
    for function in reversed(pipeline.functions):
        directives = directives.func(function.name)
        if function.name not in pipeline.outputs:
            directives = _placed(rng, directives, pipeline, function)
            if directives.schedule.of(function.name).compute.is_inline:
                continue
        for index in range(len(function.stages)):
            stage = directives if index == 0 else directives.update(index - 1)
            directives = stage
            # What slides in loops of its readers has few loops of its own.
            if index or rng.random() < 0.35:
                directives = _Blocks(rng, stage, function, index, pipeline).draw()
    return directives.schedule


def _placed(
    rng: random.Random, directives: Directives, pipeline: Pipeline, function: Function
) -> Directives:
    """What has updates is mostly computed as a whole, all else in loops of its readers."""
    if not function.is_pure and rng.random() < 0.6:
        return directives.compute_root()
    place = place_func_deep if rng.random() < 0.8 else place_func
    return place(rng, directives, pipeline, function)[0]


@define
class _Blocks:
    """The order of one stage: ``inside`` are the loops of a block, with their numbers of
    iterations.
    """

    rng: random.Random
    directives: Directives
    function: Function
    index: int
    pipeline: Pipeline
    inside: dict[str, int] = field(init=False, factory=dict)

    def draw(self) -> Directives:
        stage = self.function.stages[self.index]
        terms = [r.name for r in stage.rvars]
        vars = [name for name in stage.dimensions if name not in terms]
        if len(vars) > 1 and self.rng.random() < 0.5:
            self._register_block(terms, vars)
        else:
            self._any_block(terms, vars)
        return self.directives

    def _register_block(self, terms: Sequence[str], vars: Sequence[str]) -> None:
        """As for products of matrices: vectors, mostly along rows, copies along another dimension,
        all terms around them, and all blocks around these.
        """
        rng, tail = self.rng, self.rng.choice((Tail.AUTO, Tail.AUTO, Tail.GUARD_WITH_IF))
        block = vars[:2] if rng.random() < 0.7 else rng.sample(vars, 2)
        for name in block:
            self._split(name, rng.choice((2, 3, 4, 8)), tail)
        lanes, copies = (self._inner(name) for name in block)
        inside = rng.choice(((lanes, copies), (copies, lanes)))
        self.directives = self.directives.reorder(*inside, *terms, *vars)
        self.directives = self.directives.vectorize(lanes).unroll(copies)

    def _any_block(self, terms: Sequence[str], vars: Sequence[str]) -> None:
        rng = self.rng
        split = rng.sample(vars, min(len(vars), rng.choice((1, 2, 2, 2))))
        tail = rng.choice(self._tails(split[0])) if split and rng.random() < 0.5 else None
        for name in split:
            self._split(name, rng.choice((2, 2, 3, 4, 4, 8)), tail)
        if terms and rng.random() < 0.25:
            self._split(rng.choice(terms), rng.choice((2, 3)))
        self.directives = self.directives.reorder(*self._order(terms, vars))
        self._kinds()
        self._outside(vars or terms)

    def _tails(self, name: str) -> Sequence[Tail]:
        return tails_of(self.pipeline, self.function, self.index, frozenset((name,)))

    def _inner(self, name: str) -> str:
        return f"{name.replace('.', '_')}i"

    def _split(self, name: str, factor: int, tail: Tail | None = None) -> None:
        inner = self._inner(name)
        tail = self.rng.choice(self._tails(name)) if tail is None else tail
        self.directives = self.directives.split(name, name, inner, factor, tail)
        self.inside[inner] = factor

    def _order(self, terms: Sequence[str], vars: Sequence[str]) -> list[str]:
        """The loops, innermost first: mostly a block inside of all terms, or all terms or some of
        them inside of a block.
        """
        rng = self.rng
        block = rng.sample(list(self.inside), len(self.inside))
        outer = rng.sample(vars, len(vars)) if rng.random() < 0.4 else list(vars)
        inner_terms = rng.choice((0, 0, 0, 0, len(terms), rng.randint(0, len(terms))))
        order = [*terms[:inner_terms], *block, *terms[inner_terms:], *outer]
        return rng.sample(order, len(order)) if rng.random() < 0.12 else order

    def _kinds(self) -> None:
        """One loop of the block is a vector, the others are copies; seldom a loop is neither."""
        rng, copies = self.rng, 1
        block = rng.sample(list(self.inside), len(self.inside))
        if block and rng.random() < 0.9:
            lanes = block.pop()
            if lanes.startswith("r_") and rng.random() < 0.7:
                self.directives = self.directives.atomic()
            self.directives = self.directives.vectorize(lanes)
        for name in block:
            copies *= self.inside[name]
            if copies <= _MOST_COPIES and rng.random() < 0.9:
                self.directives = self.directives.unroll(name)

    def _outside(self, loops: Sequence[str]) -> None:
        rng = self.rng
        if not loops:
            return
        drawn, name = rng.random(), rng.choice(loops)
        if drawn < 0.08:
            self.directives = self.directives.parallel(loops[-1])
        elif drawn < 0.14:
            self.directives = self.directives.never_partition(name)
        elif drawn < 0.2:
            self.directives = self.directives.always_partition(name)
