"""A failing case made smaller: parts of its schedule, pipeline and sizes go as long as it fails in
the same way.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

from attrs import evolve

from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.schedules.derive import derived
from spaces.model.schedules.domain_order import DomainOrder, LoopKind, OrderedLoop, Split, Tail
from spaces.model.schedules.schedule import FuncSchedule, MemoryType, Schedule
from tests.differential.cases import Case
from tests.differential.check import Fuzzer
from tests.differential.oracle import Oracle
from tests.differential.smaller import smaller_subjects

_MOST_TRIES = 2000

Failure = tuple[Case, Oracle]


def shrunk(fuzzer: Fuzzer, case: Case, oracle: Oracle, seconds: float = 300) -> Failure:
    """The smallest case found that fails as ``case`` does, which is looked for that many
    seconds of processor time."""
    wanted, tried, until = _manner(fuzzer, case, oracle), 0, time.process_time() + seconds
    found, smaller = (case, oracle), True
    while smaller:
        smaller = False
        for candidate in _candidates(*found):
            tried += 1
            if tried > _MOST_TRIES or time.process_time() > until:
                return found
            if _manner(fuzzer, *candidate) == wanted:
                found, smaller = candidate, True
                break
    return found


def _candidates(case: Case, oracle: Oracle) -> Iterator[Failure]:
    for schedule in _simpler(oracle.subject.pipeline, case.schedule):
        if schedule != case.schedule:
            yield evolve(case, schedule=schedule), oracle
    for subject, schedule in smaller_subjects(oracle.subject, case.schedule):
        yield evolve(case, schedule=schedule), Oracle(subject)


def _manner(fuzzer: Fuzzer, case: Case, oracle: Oracle) -> str:
    """How a case fails: its mismatch without numbers."""
    text = fuzzer.judge(case, oracle).mismatch
    return " ".join(word for word in text.split()[:6] if word.isalpha())


def _simpler(pipeline: Pipeline, schedule: Schedule) -> Iterator[Schedule]:
    for step in schedule.derivations[-1:]:
        kept = tuple(f for f in schedule.funcs if f.name != step.name)
        yield Schedule(kept, schedule.derivations[:-1])
    default = Schedule.default(derived(pipeline, schedule))
    for func in schedule.funcs:
        plain = next((f for f in default.funcs if f.name == func.name), func)
        yield schedule.replace(plain)
        yield schedule.replace(evolve(func, memory=MemoryType.AUTO))
        yield schedule.replace(evolve(func, folds=()))
        yield schedule.replace(evolve(func, atomic=()))
        yield schedule.replace(evolve(func, store=func.compute))
        for index in range(min(len(func.stages), len(plain.stages))):
            yield schedule.with_stage(func.name, index, plain.stages[index])
            for order in _simpler_orders(func, index):
                yield schedule.with_stage(func.name, index, order)


def _simpler_orders(func: FuncSchedule, index: int) -> Iterator[DomainOrder]:
    order = func.stages[index]
    for at, loop in enumerate(order.loops):
        if loop.kind is not LoopKind.SERIAL:
            plain = (*order.loops[:at], OrderedLoop(loop.name), *order.loops[at + 1 :])
            yield evolve(order, loops=plain)
    for at, record in enumerate(order.splits):
        if not isinstance(record, Split):
            continue
        rest = (*order.splits[:at], *order.splits[at + 1 :])
        if record.outer == record.old:
            loops = tuple(loop for loop in order.loops if loop.name != record.inner)
            yield DomainOrder(rest, loops)
        for simple in (evolve(record, tail=Tail.AUTO), _smaller(record)):
            yield evolve(order, splits=(*order.splits[:at], simple, *order.splits[at + 1 :]))


def _smaller(split: Split) -> Split:
    factor = split.factor
    return evolve(split, factor=factor - 1) if isinstance(factor, int) and factor > 2 else split
