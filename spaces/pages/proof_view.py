"""Proofs: how many hold, and for each refuted one its counterexample in words and as a picture."""

from __future__ import annotations

from collections.abc import Mapping

from spaces.constraints.obligations.records import Counterexample, Proof, ProofReport, Refuted
from spaces.markup.element import Markup, joined, tag
from spaces.model.amounts import amount, named_numbers
from spaces.model.formulas.algebra import FormulaError, evaluate
from spaces.model.formulas.interval import Box
from spaces.model.nest.loopnest import LoopNest

_REFUTED = 12
"""The page draws so many counterexamples."""

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
    """The box of the buffer in this iteration, and the element at fault."""
    box = _box(found, nest)
    if box is None or not 1 <= len(found.coordinate) <= 2:
        return None
    sides = [*zip(box, found.coordinate, strict=True)]
    if len(sides) == 1:
        sides.append(((0, 0), 0))
    low = [min(side[0], x) - 1 for side, x in sides]
    high = [max(side[1], x) + 1 for side, x in sides]
    if any(top - bottom + 1 > _CELLS for bottom, top in zip(low, high, strict=True)):
        return None
    cells = []
    for y in range(low[1], high[1] + 1):
        for x in range(low[0], high[0] + 1):
            inside = all(s[0] <= c <= s[1] for (s, _), c in zip(sides, (x, y), strict=True))
            fault = (x, y) == (sides[0][1], sides[1][1])
            kind = "fault" if fault else "inside" if inside else "outside"
            place = {"x": (x - low[0]) * _SIZE, "y": (y - low[1]) * _SIZE}
            shape = tag("rect", tag("title", f"{x}, {y}"), **place, width=13, height=13)
            cells.append(tag("g", shape, class_=kind))
    width, height = ((h - b + 1) * _SIZE for b, h in zip(low, high, strict=True))
    legend = tag(
        "figcaption",
        f"The filled box holds the values of {found.buffer} in this iteration, "
        f"{box[0][0]} to {box[0][1]} along its first dimension; the marked element is the one "
        "at fault.",
    )
    drawn = tag("svg", cells, width=width, height=height, class_="cells", role="img")
    return tag("figure", drawn, legend)


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
