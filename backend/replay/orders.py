"""The order in which the iterations of a concurrent loop take their steps.

A step of a task ends where another task may come in between: after the reads of a statement, and
after its writes. A program without races computes the same values in every order.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from enum import StrEnum
from typing import TypeAlias

from spaces.backend.ir.statements import Barrier

TaskSteps: TypeAlias = Generator[Barrier | None, None, None]
"""A task. Each yield ends a step; it yields the barrier if it has reached one."""


class Order(StrEnum):
    """The choice of the iteration that runs next."""

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
    """One step of each task in turn, as the lanes of a vector run."""
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
