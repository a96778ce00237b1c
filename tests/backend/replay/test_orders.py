"""The orders of concurrent iterations, and the comparison of outputs with the reference."""

from __future__ import annotations

import pytest

from spaces.backend.replay import replay_nest
from spaces.backend.replay.orders import Order, TaskSteps, scheduled
from tests.constraints.proofs.broken import blur, nest_of, shortened


@pytest.mark.parametrize(
    ("order", "expected"),
    [
        (Order.ASCENDING, "a0 a1 b0 b1 b2"),
        (Order.DESCENDING, "b0 b1 b2 a0 a1"),
        (Order.INTERLEAVED, "a0 b0 a1 b1 b2"),
    ],
)
def test_steps_are_taken_in_the_order(order: Order, expected: str) -> None:
    taken: list[str] = []

    def task(name: str, steps: int) -> TaskSteps:
        for step in range(steps):
            taken.append(f"{name}{step}")
            yield None

    for _ in scheduled([task("a", 2), task("b", 3)], order):
        pass
    assert " ".join(taken) == expected


def test_output_values_that_are_never_computed_are_wrong() -> None:
    nest = shortened(nest_of(blur()), "out", "y")
    sizes = {"out.min.0": 0, "out.min.1": 5, "out.extent.0": 4, "out.extent.1": 3}
    (wrong,) = replay_nest(nest, sizes).wrong
    assert (wrong.output, wrong.coordinate, wrong.obtained) == ("out", (0, 7), None)
    assert (wrong.wrong, wrong.elements) == (4, 12)
