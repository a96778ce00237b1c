"""What a schedule prints: its directives and loops, without the pipeline.

>>> print(schedule)
blur_y.split(y, y, yi, 32).parallel(y).vectorize(x, 16)  // y, yi, x, x_v
blur_x.store_at(blur_y, y).compute_at(blur_y, yi)  // y, x
"""

from __future__ import annotations

from collections.abc import Iterator

from spaces.model.schedules.domain_order import DomainOrder, OrderedLoop
from spaces.model.schedules.schedule import FuncSchedule, Schedule
from spaces.model.showing import MOST_LINES, few_lines, shown
from spaces.model.suggestions import some_of
from spaces.model.writing.chain import stage_lines
from spaces.model.writing.text import format_call


@shown.register
def _(schedule: Schedule) -> str:
    lines = [line for entry in reversed(schedule.funcs) for line in _lines(entry)]
    inlined = [entry.name for entry in reversed(schedule.funcs) if entry.compute.is_inline]
    if schedule.derivations:
        lines.insert(0, f"// added: {some_of([d.name for d in schedule.derivations])}")
    text = few_lines(lines, MOST_LINES - 1)
    return f"{text}\n// inlined: {some_of(inlined)}".strip() if inlined else text


@shown.register
def _(entry: FuncSchedule) -> str:
    return few_lines(_lines(entry)) or f"{entry.name}  // inlined"


def _lines(entry: FuncSchedule) -> Iterator[str]:
    """The lines of a Func, one a stage; none if it is inlined."""
    if not _is_only_inlined(entry):
        yield from (stage_line(entry, stage) for stage in range(len(entry.stages)))


def _is_only_inlined(entry: FuncSchedule) -> bool:
    return entry.compute.is_inline and all(not stage.splits for stage in entry.stages)


def stage_line(entry: FuncSchedule, stage: int) -> str:
    """The directives of a stage, then its loops, the outermost first."""
    if _is_only_inlined(entry):
        return f"{entry.name}  // inlined"
    start = FuncSchedule(entry.name, tuple(map(_before, entry.stages)))
    name = entry.name + (f".update({stage - 1})" if stage else "")
    found = stage_lines(start, entry, stage)
    calls = [format_call(call) for line in found for call in line.calls]
    loops = ", ".join(entry.stages[stage].names)
    return ".".join([name, *calls]) + (f"  // {loops}" if loops else "")


def _before(order: DomainOrder) -> DomainOrder:
    """The serial loops before all splits and fuses, in the order of the loops that they become."""
    names = list(order.names)
    for record in reversed(order.splits):
        places = [i for i, name in enumerate(names) if name in record.made]
        if places:
            names[places[-1] : places[-1] + 1] = record.taken
            names = [name for i, name in enumerate(names) if i not in places[:-1]]
    return DomainOrder(loops=tuple(map(OrderedLoop, dict.fromkeys(names))))
