"""Random update stages, as expressions and as Python functions of iterations."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator, Mapping

from attrs import frozen

from spaces.model.algorithm.freeze import pipeline
from spaces.model.algorithm.func import Func
from spaces.model.algorithm.image_param import ImageParam
from spaces.model.algorithm.param import Param
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.algorithm.rdom import RDom
from spaces.model.algorithm.var import Var
from spaces.model.expressions import functions as fn
from spaces.model.expressions.expr import Expr
from spaces.model.expressions.types import Int32
from spaces.model.schedules.domain_order import DomainOrder, Fuse, LoopKind, OrderedLoop, Split

Iteration = Mapping[str, int]
"""The RVars of an iteration, and the number ``p``, by name."""

PIXELS = (3, 0, 2, 3, 1, 0, 2, 2, 1, 3)
"""The values of the image from which coordinates are read."""

X = Var("x")


@frozen
class Term:
    """A number of each iteration."""

    expr: Expr
    value: Callable[[Iteration], int]


@frozen
class Update:
    """An update stage of the only Func of a pipeline, along the RVars ``ranges``.

    Attributes:
        write: the place that it writes, one function for each dimension; without the Var.
        reads: the places where it reads its own Func.
        holds: whether an iteration runs.
    """

    pipeline: Pipeline
    ranges: Mapping[str, range]
    write: tuple[Term, ...]
    reads: tuple[tuple[Term, ...], ...]
    holds: Callable[[Iteration], bool]

    def iterations(self, p: int) -> list[dict[str, int]]:
        """The iterations that run, in the order of the algorithm, the first RVar innermost."""
        names = list(self.ranges)
        every = itertools.product(*(self.ranges[n] for n in reversed(names)))
        found = [{"p": p, **dict(zip(reversed(names), point, strict=True))} for point in every]
        return [i for i in found if self.holds(i)]

    def clashes(self, p: int) -> Iterator[tuple[Iteration, Iteration]]:
        """Pairs of iterations, the earlier first, that touch one element; one of them writes it."""
        ran = self.iterations(p)
        written = [tuple(t.value(i) for t in self.write) for i in ran]
        touched = [
            {w, *(tuple(t.value(i) for t in read) for read in self.reads)}
            for i, w in zip(ran, written, strict=True)
        ]
        for a, b in itertools.combinations(range(len(ran)), 2):
            if written[a] in touched[b] or written[b] in touched[a]:
                yield ran[a], ran[b]


def _affine(rng: random.Random, terms: Mapping[str, Expr], param: Expr) -> Term:
    steps = {n: rng.choice((0, 0, 1, 1, 1, -1, 2, 3)) for n in terms}
    number, times = rng.randint(-3, 9), rng.choice((0, 0, 0, 1))
    expr: Expr = param * times + number if times else fn.cast(Int32, number)
    for name, step in steps.items():
        expr = expr + terms[name] * step if step else expr
    return Term(expr, lambda i: sum(i[n] * s for n, s in steps.items()) + times * i["p"] + number)


def _coordinate(
    rng: random.Random, terms: Mapping[str, Expr], param: Expr, image: ImageParam
) -> Term:
    inner = _affine(rng, terms, param)
    name = rng.choice(list(terms))
    number, f = rng.randint(1, 4), inner.value
    match rng.choice(("", "", "", "", "", "div", "mod", "min", "max", "clamp", "square", "read")):
        case "div":
            return Term(inner.expr / number, lambda i: f(i) // number)
        case "mod":
            return Term(inner.expr % number, lambda i: f(i) % number)
        case "min":
            return Term(fn.min(inner.expr, number), lambda i: min(f(i), number))
        case "max":
            return Term(fn.max(inner.expr, number), lambda i: max(f(i), number))
        case "clamp":
            clamped = fn.clamp(inner.expr, -number, number)
            return Term(clamped, lambda i: min(max(f(i), -number), number))
        case "square":
            return Term(terms[name] * terms[name], lambda i: i[name] * i[name])
        case "read":
            at = fn.clamp(inner.expr, 0, len(PIXELS) - 1)
            read = fn.clamp(image[at], 0, 3)
            return Term(read, lambda i: PIXELS[min(max(f(i), 0), len(PIXELS) - 1)])
    return inner


def random_update(rng: random.Random) -> Update:
    """An update of a Func of up to three dimensions along up to three RVars."""
    count = rng.choice((1, 1, 2, 2, 2, 3))
    most = (0, 9, 5, 3)[count]
    bounds = [(rng.randint(-2, 2), rng.randint(1, most)) for _ in range(count)]
    r = RDom(bounds, "r")
    names = [f"r.{'xyz'[d]}" for d in range(count)]
    vars: dict[str, Expr] = {n: getattr(r, n[-1]) for n in names}
    p, image = Param(Int32, "p", 1) * 1, ImageParam(Int32, 1, "image")
    dimensions, has_var = rng.choice((1, 1, 2, 2, 3)), rng.random() < 0.3
    write = tuple(_coordinate(rng, vars, p, image) for _ in range(dimensions))
    reads = []
    for _ in range(rng.choice((0, 1, 1, 1, 2, 3))):
        near = []
        for own in write:
            shift = rng.choice((0, 0, 1, -1, 2, -2, 3, 8))
            shifted = Term(own.expr + shift, lambda i, f=own.value, s=shift: f(i) + s)
            other = _coordinate(rng, vars, p, image)
            near.append(shifted if rng.random() < 0.7 else other)
        reads.append(tuple(near))
    f = Func("f")
    args = [Var("abc"[d]) for d in range(dimensions)]
    var = (X,) if has_var else ()
    f[(*var, *args)] = 0
    holds: Callable[[Iteration], bool] = lambda i: True  # noqa: E731
    if rng.random() < 0.3:
        where = _affine(rng, vars, p)
        limit = rng.randint(0, 6)
        r.where(where.expr < limit)
        holds = lambda i: where.value(i) < limit  # noqa: E731
    value: Expr = fn.cast(Int32, 1)
    for read in reads:
        value = value * 3 + f[(*var, *(t.expr for t in read))]
    for name in names:
        value = value + vars[name] * 0
    f[(*var, *(t.expr for t in write))] = value
    ranges = {n: range(low, low + extent) for n, (low, extent) in zip(names, bounds, strict=True)}
    return Update(pipeline(f), ranges, write, tuple(reads), holds)


def random_order(rng: random.Random, update: Update) -> DomainOrder:
    """A domain order of the update with splits, fuses, any order of loops, and kinds."""
    has_var = update.pipeline.function("f").args[0] == "x"
    names = [*update.ranges, *(["x"] if has_var else [])]
    splits: list[Split | Fuse] = []
    for number in range(rng.choice((0, 0, 1, 2))):
        if rng.random() < 0.5 or len(names) < 2:
            old = rng.choice([n for n in names if n != "x"] or names)
            if old == "x":
                continue
            splits.append(Split(old, f"o{number}", f"i{number}", rng.randint(1, 4)))
            at = names.index(old)
            names[at : at + 1] = [f"i{number}", f"o{number}"]
        else:
            inner, outer = rng.sample(names, 2)
            if "x" in (inner, outer):
                continue
            splits.append(Fuse(inner, outer, f"t{number}"))
            names = [f"t{number}" if n == inner else n for n in names if n != outer]
    loops = list(reversed(names))
    if rng.random() < 0.6:
        rng.shuffle(loops)
    kinds = (LoopKind.SERIAL, LoopKind.SERIAL, LoopKind.PARALLEL)
    return DomainOrder(tuple(splits), tuple(OrderedLoop(n, rng.choice(kinds)) for n in loops))


def positions(update: Update, order: DomainOrder) -> Callable[[Iteration], tuple[int, ...]]:
    """The value of each loop, outermost first, in an iteration; 0 for the Var."""

    def of(iteration: Iteration) -> tuple[int, ...]:
        at = {n: iteration[n] - r.start for n, r in update.ranges.items()} | {"x": 0}
        extents = {n: len(r) for n, r in update.ranges.items()} | {"x": 1}
        for record in order.splits:
            if isinstance(record, Split):
                factor = int(record.factor)
                value, extent = at[record.old], extents[record.old]
                at[record.outer], at[record.inner] = divmod(value, factor)
                extents[record.outer], extents[record.inner] = -(-extent // factor), factor
            else:
                at[record.fused] = at[record.outer] * extents[record.inner] + at[record.inner]
                extents[record.fused] = extents[record.outer] * extents[record.inner]
        return tuple(at[name] for name in order.names)

    return of


def is_wrong(update: Update, order: DomainOrder, p: int) -> bool:
    """Whether two iterations that touch one element run concurrently, or in the wrong order."""
    place = positions(update, order)
    at_once = [loop.kind is not LoopKind.SERIAL for loop in order.loops]
    for earlier, later in update.clashes(p):
        pairs = zip(place(earlier), place(later), at_once, strict=True)
        differing = next(((a, b, both) for a, b, both in pairs if a != b), None)
        if differing is None or differing[2] or differing[0] > differing[1]:
            return True
    return False
