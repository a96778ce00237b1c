"""Pairs of iterations of an update stage that touch the same element of their Func; one of them
writes it.

The answer depends on the algorithm alone and is computed once for each stage. Distances between
iterations decide it if all coordinates step alike; then intervals; then the solver, if coordinates
depend on more than values that are read. Without an answer, iterations count as touching.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property, lru_cache
from typing import Any, TypeAlias

import z3
from attrs import frozen

from spaces.constraints.reasoning.formulas import (
    OPAQUE,
    Second,
    all_of,
    at_most,
    conjuncts,
    equal,
    less,
    negation,
    primed,
    within,
)
from spaces.constraints.reasoning.intervals import Intervals
from spaces.constraints.reasoning.opaque import Opaque
from spaces.constraints.reasoning.terms import Terms
from spaces.model.algorithm.pipeline import Function, Stage
from spaces.model.expressions.expr import Const, Expr, Variable, cast, constant
from spaces.model.expressions.types import Int32
from spaces.model.formulas.algebra import evaluate
from spaces.model.formulas.simplify import Simplifier
from spaces.model.formulas.smt import answer

SOLVER_STEPS = 400_000
"""The work that z3 may do for one question, in z3's own units, which are the same on every machine.
"""


@frozen
class Ordering:
    """The order in which loops have to run.

    Attributes:
        dimensions: the dimensions along which iterations depend on each other, outermost first.
        before: pairs of dimensions; the loop of the first has to stay outside the loop of the
            second.
    """

    dimensions: tuple[str, ...] = ()
    before: frozenset[tuple[str, str]] = frozenset()


@frozen
class Conflict:
    """Two iterations of a stage that touch the same element; one of them writes it.

    Attributes:
        first: the coordinates and RVars of the earlier one, by name.
        second: the coordinates and RVars of the later one.
        place: the coordinates of the element, innermost first.
        sizes: sizes and parameters at which the two meet, by name.
        depends: whether the two meet only for some values that are read.
    """

    first: Mapping[str, int]
    second: Mapping[str, int]
    place: tuple[int, ...]
    sizes: Mapping[str, int]
    depends: bool


@lru_cache(maxsize=4096)
def dependences(function: Function, index: int) -> Ordering:
    """The dimensions along which iterations of an update stage touch the same element, and the
    order that loops must keep so that these iterations run in the order of the algorithm.
    """
    if index == 0:
        return Ordering()
    asked = _Question.of(function, index)
    outer_first = tuple(reversed(function.stages[index].dimensions))
    free = asked.written_alike
    single = {r.name for r in asked.stage.rvars if _is_single(r.extent)}
    candidates = tuple(name for name in outer_first if name not in free | single)
    if not candidates:
        return Ordering()
    distances = asked.distances()
    if distances is None:
        return asked.decided(candidates)
    found = _by_distances(outer_first, distances)
    if not asked.stage.predicates or not any(any(d.values()) for d in distances):
        return found
    decided = asked.decided(
        found.dimensions
    )  # a predicate may skip one of two iterations that meet
    return Ordering(decided.dimensions, decided.before & found.before)


@lru_cache(maxsize=1024)
def conflict(
    function: Function, index: int, along: str, against: str | None = None
) -> Conflict | None:
    """Two iterations of a stage that touch the same element and differ along a dimension. With
    ``against``, the earlier one is further along that dimension. None if the search finds no such
    pair.
    """
    return _Question.of(function, index).conflict(along, against)


_Distance: TypeAlias = Mapping[str, int]
"""The distance between two iterations that meet, by dimension; None for any distance."""


def _by_distances(outer_first: tuple[str, ...], distances: Iterable[_Distance]) -> Ordering:
    """The ordering that follows from the distances between iterations that meet."""
    met: set[str] = set()
    before: set[tuple[str, str]] = set()
    for distance in distances:
        met.update(name for name in outer_first if distance.get(name) != 0)
        for sign in (1, -1):
            ends = {n: sorted((sign * distance.get(n, -1), sign * distance.get(n, 1))) for n in met}
            carriers = [n for n in outer_first if n in met]
            for at, carrier in enumerate(carriers):
                least, most = ends[carrier]
                if most > 0:
                    before.update((carrier, n) for n in carriers[at + 1 :] if ends[n][0] < 0)
                if not least <= 0 <= most:
                    break
    return Ordering(tuple(name for name in outer_first if name in met), frozenset(before))


@frozen
class _Question:
    """The accesses of one update stage to its own Func.

    Attributes:
        write: the place that an iteration writes, one int32 expression for each dimension of the
            Func.
        reads: the places where it reads its own Func.
    """

    function: Function
    index: int
    stage: Stage
    write: tuple[Expr, ...]
    reads: tuple[tuple[Expr, ...], ...]

    @staticmethod
    def of(function: Function, index: int) -> _Question:
        stage = function.stages[index]
        own = (c.args for c in stage.calls if c.target == function.name)
        places = dict.fromkeys(tuple(cast(Int32, a) for a in args) for args in own)
        return _Question(
            function, index, stage, tuple(cast(Int32, a) for a in stage.args), tuple(places)
        )

    @property
    def written_alike(self) -> frozenset[str]:
        """The dimensions that alone move some coordinate, in the same way in every access.
        Iterations that meet are equal along them.
        """
        found = set()
        for d, arg in enumerate(self.write):
            name = _only_variable(arg, self.stage)
            if name is not None and all(read[d] is arg for read in self.reads):
                found.add(name)
        return frozenset(found)

    def distances(self) -> list[_Distance] | None:
        """The distances between iterations that meet, if they are the same everywhere; None if they
        are not, or not known.
        """
        extents = {r.name: r.extent for r in self.stage.rvars}
        found: list[_Distance] = []
        for access in (self.write, *self.reads):
            distance: dict[str, int] = {}
            meets = True
            for written, touched in zip(self.write, access, strict=True):
                step = _step(written, touched, self.stage)
                if step is None:
                    return None
                name, number, divisor = step
                if not name:
                    meets = meets and number == 0
                    continue
                apart, rest = divmod(number, divisor)
                meets = meets and rest == 0 and distance.setdefault(name, apart) == apart
                extent = extents.get(name)
                if isinstance(extent, Const):
                    meets = meets and abs(apart) < extent.value
            if meets:
                single = {name: 0 for name, extent in extents.items() if _is_single(extent)}
                found.append(distance | single)
        return found

    def decided(self, candidates: tuple[str, ...]) -> Ordering:
        """The ordering of the ``candidates`` that neither intervals nor the solver exclude."""
        asked = _TwoIterations(self)
        met = tuple(name for name in candidates if not asked.excludes(asked.along(name)))
        before = frozenset(
            (a, b)
            for i, a in enumerate(met)
            for b in met[i + 1 :]
            if not asked.excludes(asked.against(a, b))
        )
        return Ordering(met, before)

    def conflict(self, along: str, against: str | None) -> Conflict | None:
        """Asks the solver for two iterations that meet."""
        asked = _TwoIterations(self)
        where = asked.along(along) if against is None else asked.against(along, against)
        return asked.conflict(where)


class _TwoIterations:
    """Accesses of two iterations as formulas; the names of the second one are primed."""

    def __init__(self, about: _Question) -> None:
        self.about = about
        stage = about.stage
        opaque = Opaque()
        self.second = Second(stage.dimensions)
        ranges = [
            c
            for r in stage.rvars
            for v in (Variable(Int32, r.name),)
            for c in (at_most(r.min, v), less(v, r.min + r.extent))
        ]
        known = [opaque.formula(c) for c in (*ranges, *stage.predicates)]
        self.write = tuple(map(opaque.formula, about.write))
        self.reads = [tuple(map(opaque.formula, read)) for read in about.reads]
        self.opaque = opaque
        known += opaque.known(opaque.meaning)
        self.known = (*known, *map(self.second, known))

    @cached_property
    def terms(self) -> Terms:
        """Terms for the solver, made only if intervals do not suffice."""
        return Terms()

    @cached_property
    def solver(self) -> Any:
        """A solver with the conditions on both iterations, among them the ranges of types: z3's
        integers have none.
        """
        made = z3.SimpleSolver(ctx=self.terms.context)
        made.set("rlimit", SOLVER_STEPS)
        made.add(*map(self.terms.condition, self.known))
        return made

    @property
    def _dimensions(self) -> Iterator[frozenset[str]]:
        return (frozenset({n, primed(n)}) for n in self.about.stage.dimensions)

    def _order(self, name: str) -> tuple[Expr, Expr]:
        return Variable(Int32, name), Variable(Int32, primed(name))

    def along(self, name: str) -> tuple[Expr, ...]:
        """Two iterations that differ along a dimension, in any order."""
        return (less(*self._order(name)),)

    def against(self, carrier: str, other: str) -> tuple[Expr, ...]:
        """The second iteration is later by one dimension, and earlier along another one."""
        dimensions = tuple(reversed(self.about.stage.dimensions))
        outer = dimensions[: dimensions.index(carrier)]
        later, earlier = self._order(carrier), self._order(other)[::-1]
        return (*(equal(*self._order(n)) for n in outer), less(*later), less(*earlier))

    @property
    def _meetings(self) -> Iterator[tuple[tuple[Expr, ...], Expr]]:
        """For each pair of accesses, the condition that both iterations touch the same place."""
        for place, other in (
            (self.write, self.write),
            *((self.write, read) for read in self.reads),
            *((read, self.write) for read in self.reads),
        ):
            second = tuple(map(self.second, other))
            yield place, all_of(equal(a, b) for a, b in zip(place, second, strict=True))

    def excludes(self, where: tuple[Expr, ...]) -> bool:
        """Whether no two iterations meet under this condition."""
        known = Intervals((*self.known, *where))
        left = [(p, m) for p, m in self._meetings if not known.prove(negation(m))]
        if any(not any(map(self._tells, conjuncts(meet))) for _, meet in left):
            return False  # only values that are read decide it
        return all(self._ask(where, *one) is None for one in left)

    def _tells(self, condition: Expr) -> bool:
        """Whether a condition involves more than values that are read and equal coordinates."""
        apart = set(self.about.stage.dimensions) - self.about.written_alike
        of_either = apart.union(map(primed, apart))
        return not self._depends(condition) and not of_either.isdisjoint(condition.names)

    def conflict(self, where: tuple[Expr, ...]) -> Conflict | None:
        """Two iterations that meet under this condition; preferably ones that meet for all values
        that are read.
        """
        for place, meet in sorted(self._meetings, key=lambda one: self._depends(one[1])):
            model = self._ask((*where, *self._small), place, meet) or self._ask(where, place, meet)
            if model:
                return self._met(model, place, self._depends(meet))
        return None

    @property
    def _small(self) -> Iterator[Expr]:
        """The condition that iterations and sizes are small, so that a person reads them easily."""
        names = frozenset[str]().union(*(h.names for h in self.known), *self._dimensions)
        for name in sorted(n for n in names if not n.startswith(OPAQUE)):
            yield from within(
                Variable(Int32, name), constant(-_SMALL, Int32), constant(_SMALL, Int32)
            )

    def _depends(self, meet: Expr) -> bool:
        return any(name.startswith(OPAQUE) for name in meet.names)

    def _ask(
        self, where: tuple[Expr, ...], place: tuple[Expr, ...], meet: Expr
    ) -> dict[str, int] | None:
        """Numbers for which two iterations meet; empty if the solver gives up, None if it shows
        that no iterations meet.
        """
        values = self.terms.variables((*self.known, *where, meet, *place))
        self.solver.push()
        self.solver.add(*(term >= 1 for name, term in values.items() if ".extent." in name))
        self.solver.add(*map(self.terms.condition, (*where, meet)))
        met = answer(self.solver)
        model = self.solver.model() if met == z3.sat else None
        self.solver.pop()
        if met == z3.unsat:
            return None
        if model is None:
            return {}
        return {n: model.eval(t, model_completion=True).as_long() for n, t in values.items()}

    def _met(self, model: Mapping[str, int], place: tuple[Expr, ...], depends: bool) -> Conflict:
        names = self.about.stage.dimensions
        iterations = {*names, *map(primed, names)}
        return Conflict(
            {n: model[n] for n in names if n in model},
            {n: model[primed(n)] for n in names if primed(n) in model},
            tuple(evaluate(c, model) for c in place),
            {
                n: value
                for n, value in model.items()
                if n not in iterations and not n.startswith(OPAQUE)
            },
            depends,
        )


_SMALL = 64


def _is_single(extent: Expr) -> bool:
    """Whether a dimension has at most one iteration."""
    return isinstance(extent, Const) and extent.value <= 1


def _only_variable(arg: Expr, stage: Stage) -> str | None:
    """The dimension ``d`` for which ``arg`` is a number times ``d`` plus a number, or None."""
    if arg.type != Int32 or arg.loads:
        return None
    form = Simplifier().polynomial(arg)
    terms = [m for m in form.terms if m]
    if len(terms) != 1 or len(terms[0]) != 1:
        return None
    (atom,) = terms[0]
    return atom.name if isinstance(atom, Variable) and atom.name in stage.dimensions else None


def _step(written: Expr, touched: Expr, stage: Stage) -> tuple[str, int, int] | None:
    """For two coordinates that step alike along one dimension: the dimension, the difference of the
    coordinates in the same iteration, and the step. For constant coordinates the name is empty and
    the step 1; None for all others.
    """
    if written.loads or touched.loads:
        return None
    simplify = Simplifier()
    first, second = simplify.polynomial(written), simplify.polynomial(touched)
    apart = (first - second).constant
    names = first.names & set(stage.dimensions)
    if apart is None or len(names) > 1:
        return None
    if not names:
        return "", apart, 1
    (name,) = names
    parts = first.split(Variable(Int32, name))
    step = None if parts is None else parts[0].constant
    if parts is None or not step or name in parts[1].names:
        return None
    return name, apart, step
