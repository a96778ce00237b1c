"""The orders in which concurrent iterations take their steps."""

from __future__ import annotations

from backend.replay.orders import Order, Steps, in_turns, scheduled


def taken(order: Order) -> list[str]:
    """Which task takes a step, for tasks of two, one and three steps."""
    steps: list[str] = []

    def task(name: str, count: int) -> Steps:
        for _ in range(count):
            steps.append(name)
            yield None

    for _ in scheduled([task("a", 2), task("b", 1), task("c", 3)], order):
        pass
    return steps


def test_each_order() -> None:
    assert taken(Order.ASCENDING) == list("aabccc")
    assert taken(Order.DESCENDING) == list("cccbaa")
    assert taken(Order.INTERLEAVED) == list("abcacc")


def test_lanes_of_a_vector_read_before_any_of_them_writes() -> None:
    done: list[str] = []

    def lane(number: int) -> Steps:
        done.append(f"read {number}")
        yield None
        done.append(f"write {number}")

    for _ in in_turns([lane(number) for number in range(2)]):
        pass
    assert done == ["read 0", "read 1", "write 0", "write 1"]
