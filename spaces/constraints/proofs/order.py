"""Order: updates happen once, and in the order of the definition if it matters.

An update that reads what it writes must be applied once at each point of its domain. Iterations
that touch the same element, of an update whose operator is not associative and commutative, must
run in the order in which the definition goes through the reduction domain.
:mod:`spaces.constraints.proofs.races` is about concurrent iterations.

If stages of one Func run in the same fused loops, the earlier stage finishes with each element
before the later stage touches it, in the same iteration or before.
"""

from __future__ import annotations

from collections.abc import Iterator

from spaces.constraints.dependences.hazards import is_commutative
from spaces.constraints.obligations.obligation import obligation
from spaces.constraints.obligations.records import Obligation
from spaces.constraints.obligations.sites import Site, Subject, common_depth, coordinates, loops_of
from spaces.constraints.reasoning.formulas import Second, all_of, any_of, equal, negation, precedes
from spaces.model.expressions.expr import Expr
from spaces.model.nest.traversal import LoopVar


def order(subject: Subject) -> Iterator[Obligation]:
    """At most two obligations for each update, and one for each earlier stage in its loops."""
    for site in subject.sites:
        func, index = site.compute.func, site.compute.stage
        if index == 0:
            continue
        function = subject.nest.placements[func].function
        stage = function.stages[index]
        reads_itself = any(r.buffer == func for r in site.reads)
        if reads_itself:
            yield _once(subject, site)
        if stage.rvars and not is_commutative(function, stage):
            yield _in_order(subject, site)
        for earlier in subject.of(func):
            shared = common_depth(earlier.path, site.path)
            fused = loops_of(site.path[:shared])[len(loops_of(subject.productions[func])) :]
            if earlier.compute.stage < index and fused:
                yield _in_turn(subject, earlier, site, fused)


def _in_turn(
    subject: Subject, earlier: Site, later: Site, fused: tuple[LoopVar, ...]
) -> Obligation:
    """No later iteration of the earlier stage touches an element that an iteration of the later
    stage touches; both run in the same loops.
    """
    func = later.compute.func
    depth = len(later.loops) - len(later.loops[later.loops.index(fused[0]) :])
    second = Second(loop.var.name for loop in earlier.loops[depth:])
    own = tuple(loop.var for loop in fused)
    write, written = later.write.args, tuple(map(second, earlier.write.args))
    clashes = [_meet(write, written)]
    clashes += [_meet(r.args, written) for r in later.reads if r.buffer == func]
    clashes += [_meet(write, tuple(map(second, r.args))) for r in earlier.reads if r.buffer == func]
    return obligation(
        subject,
        "order",
        later,
        f"{later.name} touches elements of {func} after {earlier.name} is done with them, in the "
        f"same iteration of {', '.join(loop.loop for loop in fused)} or before.",
        (
            *subject.runs(later),
            *map(second, subject.ranges(earlier.loops[depth:])),
            *map(second, earlier.conditions),
            precedes(own, tuple(map(second, own))),
        ),
        negation(any_of(dict.fromkeys(clashes))),
        func,
        write,
        second=second,
    )


def _two(subject: Subject, site: Site) -> tuple[Second, tuple[Expr, ...], tuple[Expr, ...]]:
    """A second iteration of a stage's own loops, the conditions on both, and its loop variables."""
    outer = loops_of(subject.productions[site.compute.func])
    own = site.loops[len(outer) :]
    second = Second(loop.var.name for loop in own)
    both = (*subject.runs(site), *map(second, subject.ranges(own)), *map(second, site.conditions))
    return second, both, tuple(loop.var for loop in own)


def _once(subject: Subject, site: Site) -> Obligation:
    second, both, own = _two(subject, site)
    formula = subject.opaque.formula
    point = [formula(c) for c in coordinates(subject, site).values()]
    return obligation(
        subject,
        "order",
        site,
        f"{site.name} is applied once at each point of its domain.",
        (*both, precedes(own, tuple(map(second, own)))),
        negation(all_of(equal(c, second(c)) for c in point)),
        site.compute.func,
        site.write.args,
        second=second,
    )


def _in_order(subject: Subject, site: Site) -> Obligation:
    """The earlier of two iterations that touch the same element is at the earlier point."""
    second, both, own = _two(subject, site)
    func = site.compute.func
    stage = subject.nest.placements[func].function.stages[site.compute.stage]
    at = coordinates(subject, site)
    formula = subject.opaque.formula
    point = tuple(formula(at[r.name]) for r in reversed(stage.rvars))
    written = site.write.args
    clashes = [_meet(written, tuple(map(second, written)))]
    for read in site.reads:
        if read.buffer == func:
            clashes.append(_meet(written, tuple(map(second, read.args))))
            clashes.append(_meet(read.args, tuple(map(second, written))))
    return obligation(
        subject,
        "order",
        site,
        f"{site.name} goes through {', '.join(r.name for r in stage.rvars)} in the order of its "
        "definition where that matters.",
        (*both, precedes(own, tuple(map(second, own))), any_of(dict.fromkeys(clashes))),
        precedes(point, tuple(map(second, point)), or_equal=True),
        func,
        written,
        second=second,
    )


def _meet(a: tuple[Expr, ...], b: tuple[Expr, ...]) -> Expr:
    return all_of(equal(x, y) for x, y in zip(a, b, strict=True))
