"""Which machine gets which schedules, after tasks that fail."""

from __future__ import annotations

from spaces.backend.measuring.hand_out import HandOut
from spaces.cost.measurer import Measurement, RunOutcome
from spaces.model.schedules.schedule import Schedule

GOOD = Measurement(Schedule(()), RunOutcome.CORRECT, "", (1.0,), (1.0,))


def hand_out(*places: str, count: int) -> tuple[HandOut, dict[int, Measurement]]:
    """Machines, and so many schedules; what is told lands in the dict."""
    told: dict[int, Measurement] = {}
    made = HandOut(2, 3, told.__setitem__)
    for place in places:
        made.add_worker(f"tcp://{place}", place)
    made.add([(number, Schedule(())) for number in range(count)])
    return made, told


def work(made: HandOut, bad: set[int], broken: set[str]) -> list[str]:
    """Lets all tasks end until there are no more. Those with bad schedules or on broken machines
    raise an error. Returns the workers that are left out.
    """
    left_out = []
    for _ in range(100):
        for station in list(made.begin_tasks()):
            numbers = [one.number for one in station.queued]
            if station.place in broken or bad.intersection(numbers):
                left_out += made.fail(station, OSError("no space"))
            else:
                made.finish(station, [GOOD] * len(numbers))
    return left_out


def test_a_schedule_that_fails_everywhere_costs_no_machine() -> None:
    """Also where there is only one, and the other schedule of its task is measured."""
    for places in ("a",), ("a", "b"):
        made, told = hand_out(*places, count=12)
        assert work(made, {4}, set()) == []
        assert made.stations.keys() == set(places)
        assert told.pop(4).outcome is RunOutcome.CRASHED
        assert told.keys() == {*range(12)} - {4}
        assert all(one.is_correct for one in told.values())


def test_a_machine_on_which_several_schedules_fail_is_left_out() -> None:
    made, told = hand_out("a", "b", count=40)
    assert work(made, set(), {"a"}) == ["tcp://a"]
    assert made.stations.keys() == {"b"}
    assert told.keys() == {*range(40)}
    assert sum(not one.is_correct for one in told.values()) == 0


def test_more_tasks_wait_when_proposals_come_late() -> None:
    """One more for each machine that finds none after a task, once until it has the next."""
    made, _ = hand_out("a", "b", count=3)
    assert made.wanted == 2 * 4 - 3  # two tasks of two schedules for each machine
    for station in made.begin_tasks():
        station.task = "runs"
    first, second = made.stations.values()
    made.finish(first, [GOOD] * 2)
    assert made.wanted == 2 * 6 - 1  # the other machine has one schedule
    assert not list(made.begin_tasks())  # nothing came meanwhile
    assert made.ahead == 2
    made.add([(number, Schedule(())) for number in range(4, 8)])
    assert [one.place for one in made.begin_tasks()] == ["a"]
    made.finish(second, [GOOD])  # two schedules wait
    assert made.ahead == 2
    for number in range(8, 40):
        made.add([(number, Schedule(()))])
        for station in list(made.begin_tasks()):
            made.finish(station, [GOOD] * len(station.queued))
    assert made.ahead == 4  # what is proposed far ahead knows few results
