"""One page about a schedule, or about two of them side by side."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

from attrs import field, frozen

from spaces.backend.profiling.profile import Profile
from spaces.constraints.devices.device import Device
from spaces.constraints.legality.margins import margins
from spaces.constraints.legality.verdict import CheckedSchedule, Illegal, JudgedSchedule
from spaces.constraints.obligations.records import ProofReport
from spaces.constraints.repairs.repair import Repair
from spaces.markup.element import Markup, joined, tag
from spaces.markup.quantities import shown_bytes, shown_seconds
from spaces.model.formulas.regions import UnboundedError
from spaces.model.nest.loopnest import LoopNest, loop_nest
from spaces.model.nest.splits import OrderError
from spaces.model.nest.tree import format_tree, schedule_tree
from spaces.model.schedules.levels import LevelError
from spaces.model.writing.text import format_schedule, written_lines
from spaces.pages.code_view import GeneratedCode, code_view
from spaces.pages.cost_view import cost_view
from spaces.pages.counted_kernels import CountedKernels
from spaces.pages.detail import DETAILS, Detail
from spaces.pages.difference_view import difference_view
from spaces.pages.facts import ScheduleFacts, caches, schedule_facts
from spaces.pages.func_view import func_views
from spaces.pages.graph_view import graph_view
from spaces.pages.kernel_view import kernel_view
from spaces.pages.nest_view import nest_view
from spaces.pages.page import Section, whole_page
from spaces.pages.page_header import shown_sizes, tile_row
from spaces.pages.proof_view import proof_view
from spaces.pages.rule_view import rule_view
from spaces.pages.run_view import run_view
from spaces.pages.small_run import SmallRun
from spaces.pages.verdict_view import repair_view, violation_view

MOST_BYTES = 200_000
"""A page stays below this size."""

_MARGIN = 2_000
"""Bytes that the frame of the code itself takes."""

_FITS = 30
"""The picture of this many Funcs is scaled to the width of its column; a larger one scrolls."""

_PREFIXES = ("a", "b")
"""The first letters of the ids of each side."""

_BADGES = {True: "legal", False: "illegal"}

_LEAST_CODE = 8_000
"""A page without room for this many bytes of code has none."""


@frozen
class ShownSchedule:
    """A schedule of a page, with what is known about it.

    Attributes:
        name: what the reader calls it, such as ``cpu`` or the name of a file.
        verdict: what ``verify`` says of it.
        profile: where the time of a run goes.
        proofs: the proofs about it.
        repair: the nearest legal schedule to an illegal one.
        run: its run at a small size.
        codes: the code that is generated for it.
        counted: the registers of its kernels; None for a CPU, and if the compiler was not asked.
        facts: its numbers; None if it is illegal.
    """

    name: str
    verdict: CheckedSchedule | Illegal
    profile: Profile | None = None
    proofs: ProofReport | None = None
    repair: Repair | None = None
    run: SmallRun | None = None
    codes: tuple[GeneratedCode, ...] = ()
    counted: CountedKernels | None = None
    facts: ScheduleFacts | None = field(init=False)

    @facts.default
    def _counted(self) -> ScheduleFacts | None:
        return schedule_facts(self.verdict) if isinstance(self.verdict, CheckedSchedule) else None

    @property
    def judged(self) -> JudgedSchedule:
        """The pipeline, schedule and device of the verdict.

        Raises:
            ValueError: ``verify`` did not make the verdict.
        """
        if isinstance(self.verdict, CheckedSchedule):
            return JudgedSchedule(self.verdict.pipeline, self.verdict.schedule, self.verdict.device)
        if self.verdict.judged is None:
            raise ValueError(
                "A page about an illegal schedule needs what verify(pipeline, schedule, device) "
                "returns; this verdict does not know its schedule."
            )
        return self.verdict.judged


def schedule_page(sides: Sequence[ShownSchedule]) -> str:
    """The page about one schedule, or two of one pipeline."""
    title = f"{sides[0].judged.pipeline.name}: {' and '.join(side.name for side in sides)}"
    for detail in DETAILS:
        parts, head = list(_sections(sides, detail)), _head(sides, detail)
        if len(whole_page(title, head, parts).encode()) <= MOST_BYTES:
            break
    room = MOST_BYTES - len(whole_page(title, head, parts).encode()) - _MARGIN
    if room > _LEAST_CODE and any(side.codes for side in sides):
        shown = _in_columns(sides, [code_view(side.codes, room // len(sides)) for side in sides])
        parts.append(Section("code", "Generated code", shown))
    return whole_page(title, head, parts)


def _sections(sides: Sequence[ShownSchedule], detail: Detail) -> Iterator[Section]:
    legal = [
        (side.verdict, side.facts, side.profile)
        for side in sides
        if isinstance(side.verdict, CheckedSchedule) and side.facts is not None
    ]
    if len(legal) == 2:
        names = sides[0].name, sides[1].name
        yield Section("differences", "What differs", difference_view(legal[0], legal[1], names))
    alone = len(sides) == 1
    for id, title, view in _VIEWS:
        shown = [view(side, prefix, detail) for side, prefix in zip(sides, _PREFIXES, strict=False)]
        if any(shown):
            wide = not alone or id not in ("graph", "nest")
            yield Section(id, title, _in_columns(sides, shown, _ABSENT.get(id, "")), wide)


_ABSENT = {
    "violations": "It breaks no rule.",
    "repair": "It is legal.",
    "kernels": "It has no GPU kernels.",
    "proofs": "It was not proven.",
}
"""What stands in the column of a schedule that lacks a part which the other one has."""


def _in_columns(
    sides: Sequence[ShownSchedule], shown: Sequence[Markup | None], absent: str = ""
) -> Markup:
    """One view, or two beside each other under the names of their schedules."""
    if len(sides) == 1:
        return joined(shown)
    missing = tag("p", absent or "It is illegal.", class_="quiet")
    columns = [
        tag("div", tag("h3", side.name), view or missing)
        for side, view in zip(sides, shown, strict=True)
    ]
    return tag("div", columns, class_="sides two")


def _head(sides: Sequence[ShownSchedule], detail: Detail) -> Markup:
    pipeline = sides[0].judged.pipeline
    small = tag("small", shown_sizes(pipeline))
    less = f"{detail.note}, so that the page stays under {MOST_BYTES // 1000} KB."
    note = tag("p", less, class_="note") if detail.note else None
    return joined(tag("h1", pipeline.name, " ", small), [_tiles(side) for side in sides], note)


def _tiles(side: ShownSchedule) -> Markup:
    """The verdict and the most important numbers of a schedule."""
    legal = side.verdict.legal
    badge = tag("span", "legal" if legal else "illegal", class_=f"badge {_BADGES[legal]}")
    named: dict[str, Markup | str] = {"schedule": joined(side.name, " ", badge)}
    device = side.judged.device
    named[f"device{_about(device)}"] = device.name
    if side.profile is not None:
        named["time"] = shown_seconds(side.profile.plain_seconds)
    if side.facts is not None:
        if side.facts.price is not None:
            named[f"price by {side.facts.price.model}"] = f"{side.facts.price.cost:,.4g}"
        roles = [fact.role for fact in side.facts.funcs]
        named["Funcs"] = f"{len(roles)}, {roles.count('inlined')} inlined"
    if isinstance(side.verdict, CheckedSchedule):
        named["results"] = "exact" if side.verdict.is_exact else "floats may round differently"
    else:
        count = len(side.verdict.violations)
        named["violation" if count == 1 else "violations"] = str(count)
    return tile_row(named.items())


def _about(device: Device) -> str:
    known = ", ".join(f"{name} {shown_bytes(size)}" for name, size in caches(device))
    return f" ({known})" if known else ""


def _violations(side: ShownSchedule, prefix: str, detail: Detail) -> Markup | None:
    if isinstance(side.verdict, CheckedSchedule):
        return None
    judged = side.judged
    told = violation_view(judged.pipeline, judged.schedule, side.verdict.violations)
    tree = format_tree(schedule_tree(judged.pipeline, judged.schedule))
    drawn = tag("details", tag("summary", "Schedule tree"), tag("pre", tree))
    return joined(told, drawn)


def _repair(side: ShownSchedule, prefix: str, detail: Detail) -> Markup | None:
    if side.repair is None:
        return None
    return repair_view(side.judged.pipeline, side.judged.schedule, side.repair)


def _costs(side: ShownSchedule, prefix: str, detail: Detail) -> Markup | None:
    return None if side.facts is None else cost_view(side.facts, side.profile, prefix)


def _graph(side: ShownSchedule, prefix: str, detail: Detail) -> Markup | None:
    if len(side.judged.pipeline.functions) > detail.drawn:
        return None
    drawn = graph_view(side.judged.pipeline, side.judged.schedule)
    return tag("div", drawn, class_="graph fit" if _is_small(side) else "graph", tabindex=0)


def _is_small(side: ShownSchedule) -> bool:
    return len(side.judged.pipeline.functions) <= _FITS


def _nest(side: ShownSchedule, prefix: str, detail: Detail) -> Markup | None:
    if side.facts is None or not isinstance(side.verdict, CheckedSchedule):
        return None
    return nest_view(_shown_nest(side.verdict), side.facts, prefix, detail)


def _shown_nest(checked: CheckedSchedule) -> LoopNest:
    """The nest at the estimates: that of the case that applies there."""
    return checked.at(checked.pipeline.sizes()).nest if checked.cases else checked.nest


def _kernels(side: ShownSchedule, prefix: str, detail: Detail) -> Markup | None:
    if side.facts is None or not side.facts.kernels:
        return None
    return kernel_view(side.facts, side.counted)


def _run(side: ShownSchedule, prefix: str, detail: Detail) -> Markup | None:
    if side.run is not None:
        return run_view(side.run, prefix)
    return tag("p", _NO_RUN, class_="quiet") if side.verdict.legal else None


_NO_RUN = "There is no picture: at the smallest sizes it is illegal, or still computes too much."


def _rules(side: ShownSchedule, prefix: str, detail: Detail) -> Markup | None:
    if not isinstance(side.verdict, CheckedSchedule):
        return None
    return rule_view(margins(side.verdict), side.verdict.advice)


def _proofs(side: ShownSchedule, prefix: str, detail: Detail) -> Markup | None:
    if side.proofs is None:
        return None
    judged = side.judged
    try:
        nest = loop_nest(judged.pipeline, judged.schedule)
    except (LevelError, OrderError, UnboundedError):
        nest = None
    return proof_view(side.proofs, nest)


def _funcs(side: ShownSchedule, prefix: str, detail: Detail) -> Markup | None:
    if side.facts is None:
        return None
    lines: dict[str, list[str]] = {}
    for line in written_lines(side.judged.schedule, side.judged.pipeline):
        func = line.stage.partition(".")[0]
        lines.setdefault(func, []).append(".".join((line.stage, *line.calls)))
    told = {name: "\n".join(found) for name, found in lines.items()}
    return func_views(side.facts, told, prefix, detail)


def _schedule(side: ShownSchedule, prefix: str, detail: Detail) -> Markup:
    text = format_schedule(side.judged.schedule, side.judged.pipeline)
    return tag("pre", text or "(no directives: the default schedule)", class_="directives")


View: TypeAlias = Callable[[ShownSchedule, str, Detail], Markup | None]
"""Makes a part of the page of one schedule; None if it has none."""

_VIEWS: tuple[tuple[str, str, View], ...] = (
    ("violations", "Violations", _violations),
    ("repair", "Nearest legal schedule", _repair),
    ("costs", "Where time goes", _costs),
    ("graph", "Funcs", _graph),
    ("nest", "Loop nest", _nest),
    ("kernels", "Kernels", _kernels),
    ("run", "A small run, step by step", _run),
    ("rules", "Rules", _rules),
    ("proofs", "Proofs", _proofs),
    ("funcs", "Each Func", _funcs),
    ("schedule", "Schedule", _schedule),
)
"""The parts in their order: the anchor, the title and the view of each."""
