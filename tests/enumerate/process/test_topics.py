"""A directive about one Func is known to one topic, which the process and the solver ask."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve, frozen

from spaces import (
    Decision,
    Device,
    MemoryType,
    Options,
    PartialSchedule,
    Pipeline,
    ScheduleSpace,
    StageOf,
    Tail,
    device,
    explain_empty,
    universe,
)
from spaces.constraints.solver.encode import encode, models
from spaces.enumerate.space import options
from spaces.enumerate.space.options import OPTIONAL_DIRECTIVES
from spaces.enumerate.space.process import topics
from spaces.enumerate.space.process.state import ProcessState
from spaces.enumerate.space.process.topic import EntryChoice, ListedTopic, unchanged
from spaces.enumerate.space.process.topics import placing
from spaces.enumerate.space.process.topics.ordering import split_tails
from spaces.model.schedules.schedule import Pad
from tests.cpus import FOUR_CORES
from tests.enumerate.pipelines import blur, row_sums, shuffled

OF_ENTRIES = [name for name, about in OPTIONAL_DIRECTIVES.items() if about == "entry"]


def space_with(*directives: str, **more: Any) -> ScheduleSpace:
    """A space of a small image, so that bounds may be offered."""
    few = {"row_tiles": (32,), "tiles": (8,), "lanes": (1,), "folds": (2,), "short": 40}
    return ScheduleSpace(blur(32, 24), FOUR_CORES, Options(**few, directives=directives, **more))


def decisions_of(space: ScheduleSpace) -> dict[str, Decision]:
    """Those of the solver, by the names that the process gives them."""
    return {one.name.replace(".", " ", 1): one for one in universe(space).decisions}


@pytest.mark.parametrize("directive", OF_ENTRIES)
def test_what_the_process_decides_about_a_func_the_solver_decides_too(directive: str) -> None:
    space = space_with(directive)
    added = decisions_of(space).keys() - decisions_of(space_with()).keys()
    chosen, offered = random.Random(0), dict[str, set[str]]()

    def choose(partial: PartialSchedule) -> None:
        while (decision := partial.decision) is not None:
            labels = [option.label for option in decision.options]
            offered.setdefault(decision.name, set()).update(labels)
            partial = partial.take(chosen.choice(labels))

    for _ in range(20):
        choose(space.start())
    assert added
    assert added == {name for name in offered if name in added}
    for name in added:
        options = set(map(str, decisions_of(space)[name].options))
        assert offered[name] <= options
        assert len(offered[name]) > 1


def test_tiles_shift_inwards_in_pure_stages_alone() -> None:
    space = ScheduleSpace(row_sums(), FOUR_CORES, Options.everything(FOUR_CORES))
    pure, update = (
        split_tails(space.start().state, StageOf("sums", stage), "y") for stage in (0, 1)
    )
    assert set(pure) - set(update) == {Tail.SHIFT_INWARDS}
    assert Tail.GUARD_WITH_IF in update


def test_a_space_with_such_a_directive_has_more_than_patterns() -> None:
    assert space_with().only_patterns
    assert not any(space_with(directive).only_patterns for directive in OF_ENTRIES)


def test_only_the_memory_of_a_place_is_offered() -> None:
    """A CPU has no memory that the threads of a block share."""
    space = space_with("store_in")
    assert any("GPUShared" in str(one) for one in decisions_of(space)["blur_x memory"].options)
    for schedule in itertools.islice(space.structures(), 200):
        memories = {entry.memory for entry in schedule.schedule.funcs}
        assert MemoryType.GPU_SHARED not in memories


@pytest.mark.parametrize(
    ("directive", "why"),
    [
        ("in_", "have in_, so that schedules differ in their Funcs"),
        ("clone_in", "have clone_in, so that schedules differ in their Funcs"),
        ("rfactor", "have rfactor, so that schedules differ in their Funcs"),
    ],
)
def test_what_the_solver_cannot_decide_is_refused_in_words(directive: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        universe(space_with(directive))


@frozen
class PadTopic(ListedTopic):
    """A topic that the library does not have: rows of 48 values in memory."""

    func: str

    @property
    def name(self) -> str:
        return f"{self.func} align storage x"

    def choices(self, state: ProcessState) -> Iterator[EntryChoice]:
        yield EntryChoice("rows as they are", {self.name: None}, unchanged)
        padded = partial(evolve, pads=(Pad("x", 48),))
        yield EntryChoice(f"{self.func}.pad()", {self.name: 48}, padded)


def test_a_new_topic_needs_no_code_for_counts_draws_and_the_solver(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    fewer = {"root": ("strips",), "inner": ("vectors",), "storage": "compute"}
    plain = list(space_with(**fewer))
    monkeypatch.setattr(options, "OPTIONAL_DIRECTIVES", {**OPTIONAL_DIRECTIVES, "pad": "entry"})
    makers = (*placing.list_makers(), lambda state, func: [PadTopic(func)])
    monkeypatch.setattr(placing, "list_makers", lambda: makers)
    space = space_with("pad", **fewer)
    stored = [one for one in plain if not one.of("blur_x").compute.is_inline]
    # The output may be padded, too, but its storage belongs to the caller.
    padded = [one.replace(evolve(one.of("blur_x"), pads=(Pad("x", 48),))) for one in stored]
    listed = list(space)
    assert set(listed) == {*plain, *padded}
    assert space.count() == len(listed) == len(plain) + len(padded)
    assert [space.rank(one) for one in listed[::9]] == list(range(len(listed)))[::9]
    drawn = space.sample(40, seed=1)
    assert set(drawn) <= set(listed)
    assert any(one.of("blur_x").pads for one in drawn)
    everything = universe(space)
    solved = models(encode(everything, FOUR_CORES))
    assert {everything.schedule(choice) for choice in solved.choices} == set(listed)
    assert explain_empty(space).answer == "inhabited"


def test_a_topic_is_found_in_its_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After those whose order is that of the decisions; each of them once."""
    known = placing.list_makers.__wrapped__()
    lines = ("def no_topics(state, func):", "    return iter(())", "TOPICS = (no_topics,)")
    (tmp_path / "deciding_nothing.py").write_text("\n".join(lines))
    monkeypatch.setattr(topics, "__path__", [*topics.__path__, str(tmp_path)])
    *before, added = placing.list_makers.__wrapped__()
    assert tuple(before) == known
    assert added.__name__ == "no_topics"
    assert len(set(known)) == len(known) == 4


@pytest.mark.parametrize(
    ("directive", "setting", "pipe", "func"),
    [
        ("memoize", "memoized", shuffled(64), "order"),
        ("async_", "asynchronous", blur(32, 24), "blur_x"),
    ],
)
def test_only_those_who_ask_for_it_get_a_flag(
    directive: str, setting: str, pipe: Pipeline, func: str
) -> None:
    presets = (Options.small, Options.medium, Options.expert, Options.everything)
    assert not any(directive in preset(FOUR_CORES).directives for preset in presets)
    fewer = Options(root=("strips",), row_tiles=(32,), tiles=(8,), lanes=(1,))
    space = ScheduleSpace(pipe, FOUR_CORES, fewer)
    asked = space.with_directive(directive)
    kept = [one for one in asked if getattr(one.of(func), setting)]
    assert len(kept) + space.count() == asked.count() > space.count()


@pytest.mark.parametrize("pipeline", [blur(32, 24), row_sums()], ids=["blur", "sums"])
@pytest.mark.parametrize("target", [FOUR_CORES, device("sm_80")], ids=["cpu", "gpu"])
def test_no_option_makes_its_state_before_it_is_taken(pipeline: Pipeline, target: Device) -> None:
    """Most options are never taken: all of a decision share the state in which they are offered."""
    space, chosen = ScheduleSpace(pipeline, target, Options.everything(target)), random.Random(1)
    for _ in range(3):
        for partial_schedule in space.start().led(lambda one: chosen.choice(one.options)):
            assert len({id(option.state) for option in partial_schedule.options}) <= 1
