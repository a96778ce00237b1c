"""Proofs: how many hold, and for each refuted one its counterexample in words and as a picture."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from spaces.constraints.obligations.records import Counterexample, Proof, ProofReport, Refuted
from spaces.markup.element import Markup, joined, tag
from spaces.model.amounts import amount, named_numbers
from spaces.model.expressions.expr import Expr
from spaces.model.formulas.algebra import FormulaError, evaluate
from spaces.model.formulas.interval import Box
from spaces.model.nest.loopnest import LoopNest

_REFUTED = 12
"""How many counterexamples the page draws."""

_CELLS = 24
"""The most cells along a side of a picture."""

_SIZE = 14


def proof_view(report: ProofReport, nest: LoopNest | None) -> Markup:
    """The proofs about a nest; ``nest`` gives the boxes that the pictures draw."""
    told = [f"{amount(len(report.proven), 'obligation')} proven for all sizes"]
    told += [f"{len(report.refuted)} refuted"] * bool(report.refuted)
    told += [f"{len(report.unknown)} unknown"] * bool(report.unknown)
    head = tag("p", f"{', '.join(told)}, in {report.seconds:.2f} s.")
    refuted = [_refuted(proof, nest) for proof in report.refuted[:_REFUTED]]
    unknown = [tag("li", str(proof)) for proof in report.unknown[:_REFUTED]]
    kinds: dict[str, int] = {}
    for proof in report.proven:
        kinds[proof.obligation.kind] = kinds.get(proof.obligation.kind, 0) + 1
    by_kind = ", ".join(f"{count} of {kind}" for kind, count in kinds.items())
    proven = tag("p", f"Proven: {by_kind}.", class_="quiet") if kinds else None
    return joined(head, refuted, tag("ul", unknown) if unknown else None, proven)


def _refuted(proof: Proof, nest: LoopNest | None) -> Markup:
    assert isinstance(proof.outcome, Refuted)
    found = proof.outcome.counterexample
    second = f", and {named_numbers(found.other)}" if found.other else ""
    where = tag(
        "p",
        tag("code", f"{found.buffer}({', '.join(map(str, found.coordinate))})"),
        f" at {named_numbers(found.iteration)}{second}" if found.iteration else None,
        f", for {named_numbers(found.sizes)}" if found.sizes else None,
    )
    picture = None if nest is None else _picture(found, nest)
    statement = tag("p", tag("b", "Refuted: "), str(proof.obligation))
    func = proof.obligation.func
    return tag("div", statement, where, picture, class_="violation", data_func=func)


def _picture(found: Counterexample, nest: LoopNest) -> Markup | None:
    """The element at fault in the box that the buffer holds in this iteration: the plane of the
    first two dimensions, and as much of it around the element as has room.
    """
    box = _box(found, nest)
    if not box or len(box) != len(found.coordinate):
        return None
    sides = [*zip(box, found.coordinate, strict=True), ((0, 0), 0)][:2]
    folds = [*_folds(found, nest), None, None][:2]
    others = zip(box[2:], found.coordinate[2:], strict=True)
    beside = all(low <= x <= high for (low, high), x in others)
    columns, rows = (_shown(side, x) for side, x in sides)
    cells, shared = [], False
    for j, y in enumerate(rows):
        for i, x in enumerate(columns):
            place = (x, y)
            within = zip((side for side, _ in sides), place, strict=True)
            inside = beside and all(low <= at <= high for (low, high), at in within)
            kind = "inside" if inside else "outside"
            if place == (sides[0][1], sides[1][1]):
                kind = "fault"
            elif inside and _share(place, [x for _, x in sides], folds):
                kind, shared = "shared", True
            told = ", ".join(map(str, (*place, *found.coordinate[2:])[: len(box)]))
            shape = tag("rect", tag("title", told), x=i * _SIZE, y=j * _SIZE, width=13, height=13)
            cells.append(tag("g", shape, class_=kind))
    width, height = len(columns) * _SIZE, len(rows) * _SIZE
    is_whole = len(columns) < _CELLS and len(rows) < _CELLS
    title = tag("title", f"The element of {found.buffer} at fault")
    drawn = tag("svg", title, cells, width=width, height=height, class_="cells", role="img")
    return tag("figure", drawn, tag("figcaption", _legend(found, box, shared, is_whole)))


def _legend(
    found: Counterexample, box: Sequence[tuple[int, int]], shared: bool, is_whole: bool
) -> str:
    ranges = ", ".join(f"{low} to {high}" for low, high in box)
    told = [
        f"The filled box holds the values of {found.buffer} in this iteration ({ranges}); the "
        f"red element ({', '.join(map(str, found.coordinate))}) is the one at fault."
    ]
    if shared:
        told.append("Amber elements take the same place in its folded storage.")
    if not is_whole:
        told.append("Only the part around the element is drawn.")
    if len(box) > 2:
        told.append("The picture is the plane of the first two dimensions.")
    return " ".join(told)


def _shown(side: tuple[int, int], at: int) -> range:
    """The coordinates that are drawn along a dimension, with a margin."""
    low, high = min(side[0], at) - 1, max(side[1], at) + 1
    if high - low >= _CELLS:
        low = min(max(low, at - _CELLS // 2), high - _CELLS + 1)
        high = low + _CELLS - 1
    return range(low, high + 1)


def _share(place: tuple[int, int], fault: Sequence[int], folds: Sequence[int | None]) -> bool:
    """Whether an element takes the place of the one at fault in folded storage."""
    if not any(folds):
        return False
    pairs = zip(place, fault, folds, strict=True)
    return all((x - at) % fold == 0 if fold else x == at for x, at, fold in pairs)


def _folds(found: Counterexample, nest: LoopNest) -> list[int | None]:
    """The fold factor of each dimension of the buffer; None where it is not folded."""
    placement = nest.placements.get(found.buffer)
    folds = () if placement is None else placement.storage.folds
    return [None if fold is None else _number(fold, found) for fold in folds]


def _number(formula: Expr, found: Counterexample) -> int | None:
    try:
        return int(evaluate(formula, {**found.sizes, **found.iteration}))
    except FormulaError:
        return None


def _box(found: Counterexample, nest: LoopNest) -> list[tuple[int, int]] | None:
    placement, image = nest.placements.get(found.buffer), nest.inputs.get(found.buffer)
    values = {**found.sizes, **found.iteration}
    if placement is not None:
        return _ends(placement.storage.stored, values)
    return None if image is None else _extent_of(found.buffer, len(image), values)


def _ends(box: Box, values: Mapping[str, int]) -> list[tuple[int, int]] | None:
    ends = []
    for side in box:
        if side.min is None or side.max is None:
            return None
        try:
            ends.append((int(evaluate(side.min, values)), int(evaluate(side.max, values))))
        except FormulaError:
            return None
    return ends


def _extent_of(
    image: str, dimensions: int, values: Mapping[str, int]
) -> list[tuple[int, int]] | None:
    ends = []
    for d in range(dimensions):
        extent = values.get(f"{image}.extent.{d}")
        if extent is None:
            return None
        low = values.get(f"{image}.min.{d}", 0)
        ends.append((low, low + extent - 1))
    return ends
