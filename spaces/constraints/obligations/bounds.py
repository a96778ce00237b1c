"""Bounds: every access lies inside the allocation of its buffer."""

from __future__ import annotations

from collections.abc import Iterator

from spaces.constraints.obligations.obligation import obligation
from spaces.constraints.obligations.records import Obligation
from spaces.constraints.obligations.sites import Access, Site, Subject, TreePath, loops_of
from spaces.constraints.reasoning.formulas import all_of, at_most, within
from spaces.model.algorithm.pipeline import size_variable
from spaces.model.expressions.expr import Expr, constant
from spaces.model.expressions.types import Int32
from spaces.model.nest.loopnest import HoistedStorage


def bounds(subject: Subject) -> Iterator[Obligation]:
    """One obligation for each access of each computation."""
    for site in subject.sites:
        for access in (site.write, *site.reads):
            yield _inside(subject, site, access)
    for func, path in subject.allocations.items():
        hoisted = [s.node for s in path if isinstance(s.node, HoistedStorage)]
        for memory in hoisted:
            if memory.func == func:
                yield _fits(subject, memory, path)


def _fits(subject: Subject, memory: HoistedStorage, path: TreePath) -> Obligation:
    """The allocation in any iteration fits the memory that was obtained for all iterations."""
    allocation, formula = subject.allocation(memory.func), subject.opaque.formula
    extents = allocation.extents if allocation is not None else ()
    pairs = zip(extents, memory.extents, strict=True)
    return obligation(
        subject,
        "bounds",
        (memory.func, 0),
        f"The allocation of {memory.func} fits the memory that is hoisted for it.",
        (*subject.known.common, *subject.ranges(loops_of(path))),
        all_of(at_most(formula(e), formula(most)) for e, most in pairs),
        memory.func,
        (),
    )


def _inside(subject: Subject, site: Site, access: Access) -> Obligation:
    verb = "writes" if access.is_write else "reads"
    where = "the buffer" if subject.allocation(access.buffer) is None else "what is allocated"
    return obligation(
        subject,
        "bounds",
        site,
        f"{site.name} {verb} {access.written} inside {where} of {access.buffer}.",
        subject.runs(site, access.buffer),
        all_of(
            condition
            for arg, ends in zip(access.args, extent_of(subject, access.buffer), strict=True)
            if ends is not None
            for condition in within(arg, *ends)
        ),
        access.buffer,
        access.args,
    )


def extent_of(subject: Subject, buffer: str) -> tuple[tuple[Expr, Expr] | None, ...]:
    """The first and last stored coordinate in each dimension of a buffer; None for a folded
    dimension, which has a place for every coordinate.
    """
    formula = subject.opaque.formula
    allocation = subject.allocation(buffer)
    if allocation is not None:
        sizes = zip(allocation.mins, allocation.extents, allocation.folds, strict=True)
        return tuple(
            None if fold is not None else (formula(low), formula(low) + formula(extent) - 1)
            for low, extent, fold in sizes
        )
    pipeline = subject.nest.pipeline
    if buffer in subject.images:
        count = pipeline.image(buffer).dimensions
    else:
        count = len(pipeline.function(buffer).args)
    one = constant(1, Int32)
    ends = []
    for d in range(count):
        low = size_variable(buffer, "min", d)
        ends.append((low, low + size_variable(buffer, "extent", d) - one))
    return tuple(ends)
