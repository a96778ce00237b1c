"""In which order the iterations of a concurrent loop take their steps.

A step of a task ends where another task may come in between: after what a statement reads, and
after what it writes. A program without races computes the same in every order.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from enum import StrEnum
from typing import TypeAlias

from backend.ir.statements import Barrier

TaskSteps: TypeAlias = Generator[Barrier | None, None, None]
"""A task; what it yields ends a step: a barrier, where it has come to one."""


class Order(StrEnum):
    """Which iteration goes next."""

    ASCENDING = "iterations one after the other"
    DESCENDING = "iterations one after the other, the last one first"
    INTERLEAVED = "iterations step by step in turns"


def scheduled(tasks: Sequence[TaskSteps], order: Order) -> TaskSteps:
    """All steps of all ``tasks`` in the order."""
    match order:
        case Order.ASCENDING:
            for task in tasks:
                yield from task
        case Order.DESCENDING:
            for task in reversed(tasks):
                yield from task
        case Order.INTERLEAVED:
            yield from in_turns(tasks)


def in_turns(tasks: Sequence[TaskSteps]) -> TaskSteps:
    """One step of each task after the other, as the lanes of a vector take them."""
    waiting = list(tasks)
    while waiting:
        left = []
        for task in waiting:
            try:
                next(task)
            except StopIteration:
                continue
            left.append(task)
            yield None
        waiting = left
