"""Partial schedules: decisions one after another."""

from __future__ import annotations

import itertools
import pickle
import random

import attrs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import spaces
from spaces import Options, PartialSchedule, ScheduleSpace
from spaces.apps.catalog import APPS
from spaces.enumerate.search.bounds import decided_features
from spaces.enumerate.space.process.partial import form_of
from spaces.enumerate.space.process.state import ProcessState
from spaces.features.features import Features
from spaces.model.deadline import Deadline
from spaces.model.formulas.algebra import evaluate
from tests.cpus import FOUR_CORES
from tests.draw_counts import examples, some
from tests.enumerate.pipelines import blur
from tests.small_space import small_space

CPU, SM80 = FOUR_CORES, spaces.device("sm_80")


def space_of(name: str, preset: str, device: spaces.Device) -> ScheduleSpace:
    pipeline = blur() if name == "blur" else APPS[name].pipeline()
    return ScheduleSpace(pipeline, device, getattr(Options, preset)(device))


def leaves(partial: PartialSchedule) -> list[PartialSchedule]:
    if partial.is_complete:
        return [partial]
    return [leaf for option in partial.options for leaf in leaves(partial.take(option))]


SPACES = [
    ("blur", "expert", CPU),
    ("blur", "everything", CPU),
    ("blur", "expert", SM80),
    ("harris", "expert", CPU),
    ("sgemm", "everything", CPU),
    ("sgemm", "expert", SM80),
    ("conv_layer", "small", CPU),
    ("toy_sum", "everything", SM80),
]


@pytest.mark.parametrize(("name", "preset", "device"), some(SPACES))
@settings(max_examples=examples(6, fewest=3))
@given(seed=st.integers(0, 1 << 32))
def test_what_decisions_made_they_find_again(
    name: str, preset: str, device: spaces.Device, seed: int
) -> None:
    """Names of loops do not count: the way back follows canonical forms."""
    space = space_of(name, preset, device)
    made = space.start().at_random(random.Random(seed))
    way = space.way_to(made.schedule)
    assert way[-1].taken == made.taken
    assert way[-1].schedule == made.schedule
    assert [len(p.taken) for p in way] == list(range(len(way)))


def test_several_fuses_are_found_in_their_order() -> None:
    space = space_of("blur", "expert", CPU)
    fused = 0
    for seed in range(20):
        made = space.start().at_random(random.Random(seed))
        fuses = [label for label in made.taken if ".fuse(" in label]
        if len(fuses) > 1:
            fused += 1
            assert space.way_to(made.schedule)[-1].taken == made.taken
    assert fused > 2


def test_an_option_that_splits_fits_no_loop_that_is_whole() -> None:
    space = space_of("blur", "expert", CPU)
    partial = space.resume(["no blur_x.in()", "no input.in()"])
    whole, *splits = partial.options
    form = form_of(partial.state, spaces.Schedule.default(space.pipeline))
    assert whole.fits(form)
    assert [option.misfits(form) for option in splits] == [1, 2, 2]


@pytest.mark.parametrize("device", [CPU, SM80], ids=lambda device: device.name)
@pytest.mark.parametrize("name", ["toy_sum", "toy_blur"])
def test_leaves_are_the_candidates(name: str, device: spaces.Device) -> None:
    space = space_of(name, "small", device)
    found = [leaf.schedule for leaf in leaves(space.start())]
    assert set(found) == {space.candidate(i) for i in range(space.candidates)}
    assert len(found) == space.candidates


@pytest.mark.parametrize(
    ("splits", "directives"),
    [(1, ("split", "vectorize")), (1, ("fuse", "parallel")), (0, ("unroll", "bound", "store_in"))],
)
def test_no_two_leaves_are_the_same_schedule(splits: int, directives: tuple[str, ...]) -> None:
    pipeline = blur()
    options = Options(
        root=("loops",),
        inner=("loops",),
        splits=splits,
        directives=directives,
        small_factors=2,
        equal_parts=1,
        largest_factor=2,
        placements=("root",),
    )
    some = itertools.islice(_walk(ScheduleSpace(pipeline, CPU, options).start()), 3000)
    forms = [spaces.canonical_form(pipeline, leaf.schedule) for leaf in some]
    assert len(forms) == len(set(forms)) > 30


def _walk(start: PartialSchedule):
    stack = [start]
    while stack:
        partial = stack.pop()
        if partial.is_complete:
            yield partial
        stack += [partial.take(option) for option in partial.options]


@pytest.mark.parametrize(("name", "preset", "device"), SPACES)
def test_labels_of_a_decision_differ(name: str, preset: str, device: spaces.Device) -> None:
    partial = space_of(name, preset, device).start()
    chosen = random.Random(1)
    while not partial.is_complete:
        labels = [option.label for option in partial.options]
        assert len(set(labels)) == len(labels) > 1
        partial = partial.take(chosen.choice(labels))


def test_a_partial_schedule_resumes_and_travels() -> None:
    space = space_of("harris", "expert", CPU)
    made = space.start().at_random(random.Random(3))
    half = space.resume(made.taken[: len(made.taken) // 2])
    assert half.taken == made.taken[: len(half.taken)]
    travelled = pickle.loads(pickle.dumps(half))
    assert travelled == half
    assert [o.label for o in travelled.options] == [o.label for o in half.options]
    assert space.resume(made.taken).schedule == made.schedule


def test_an_option_that_is_not_there() -> None:
    start = space_of("blur", "small", CPU).start()
    with pytest.raises(ValueError, match=r"has no option 'blur_y\.inline'; it has 'blur_y in "):
        start.take("blur_y.inline")
    with pytest.raises(ValueError, match="The schedule is complete"):
        start.at_random(random.Random(0)).take("more")


@settings(max_examples=examples(12, fewest=4))
@given(seed=st.integers(0, 1 << 32))
def test_what_cannot_be_legal_is_not(seed: int) -> None:
    space = space_of("blur", "everything", CPU)
    made = space.start().at_random(random.Random(seed))
    way = space.way_to(made.schedule)
    if not all(partial.can_be_legal for partial in way):
        assert not spaces.verify(space.pipeline, made.schedule, CPU)


def test_some_decisions_leave_nothing_legal() -> None:
    space = space_of("blur", "everything", CPU)
    draws = (space.start().at_random(random.Random(seed)) for seed in range(40))
    dead = next(partial for partial in draws if not partial.can_be_legal)
    assert not spaces.verify(space.pipeline, dead.schedule, CPU)


def test_given_entries_are_no_decision() -> None:
    pipeline = blur()
    fixed = spaces.open_funcs(spaces.schedule(pipeline).parallel("y").schedule, "blur_x")
    space = ScheduleSpace(pipeline, CPU, Options.expert(CPU), fixed)
    made = space.start().at_random(random.Random(0)).schedule
    assert made.of("blur_y") == fixed.of("blur_y")


def test_a_schedule_that_the_space_lacks() -> None:
    pipeline = blur()
    strips = ScheduleSpace(pipeline, CPU, Options(root=("strips",), placements=("root",)))
    with pytest.raises(ValueError, match="no such schedule: decision 'blur_y factor 0' offers"):
        strips.way_to(spaces.Schedule.default(pipeline))
    serial = ScheduleSpace(pipeline, CPU, Options(root=("serial",), placements=("root",)))
    with pytest.raises(ValueError, match="'blur_x compute' is root and not inline"):
        serial.way_to(spaces.Schedule.default(pipeline))


def points_of(found: Features, func: str, sizes: dict[str, int]) -> list[int]:
    """The points of each stage of a Func."""
    stages = [stage.points for stage in found.stages if stage.func == func]
    return [p if isinstance(p, int) else evaluate(p, sizes) for p in stages]


@pytest.mark.parametrize(("preset", "device"), [("small", CPU), ("expert", CPU), ("expert", SM80)])
def test_features_of_decided_funcs_are_those_of_the_whole(
    preset: str, device: spaces.Device
) -> None:
    """Decisions about producers do not change how often their consumers are computed."""
    space = space_of("blur", preset, device)
    assert decided_features(space.start()) is None
    for schedule in space.sample(3, seed=4):
        way = space.way_to(schedule)
        numbers = {**space.pipeline.sizes(), **way[-1].state.numbers}
        for partial in way:
            if (found := decided_features(partial)) is not None:
                assert decided_features(way[-1]) is not None
                for entry in partial.schedule.funcs:
                    before = points_of(found, entry.name, numbers)
                    assert before == points_of(decided_features(way[-1]), entry.name, numbers)


def crossing() -> spaces.Pipeline:
    """Two chains of two Funcs: a Func of one may be computed with any of the other, but not both
    pairs crosswise.
    """
    x, y = spaces.Var("x"), spaces.Var("y")
    upper, lower, left, right, out = map(spaces.Func, ("upper", "lower", "left", "right", "out"))
    upper[x, y] = x + y
    lower[x, y] = x - y
    left[x, y] = upper[x, y] + upper[x + 1, y]
    right[x, y] = lower[x, y] + lower[x + 1, y]
    out[x, y] = left[x, y] + right[x, y]
    return spaces.pipeline(out, estimates={out: [64, 64]})


def test_what_is_computed_with_others_can_run_in_turn() -> None:
    options = attrs.evolve(
        Options.small(CPU), placements=("root",), root=("serial",), directives=("compute_with",)
    )
    algorithm = crossing()
    found = set()
    for leaf in leaves(ScheduleSpace(algorithm, CPU, options).start()):
        assert leaf.can_be_legal, leaf.taken
        pairs = [(e.name, one.other.func) for e in leaf.schedule.funcs for one in e.companions]
        found.add(frozenset(map(frozenset, pairs)))
    assert found == {
        frozenset(map(frozenset, pairs))
        for pairs in (
            [],
            *([(one, other)] for one in ("left", "upper") for other in ("right", "lower")),
            [("left", "right"), ("upper", "lower")],
        )
    }


@pytest.mark.parametrize(
    ("name", "preset", "device"),
    [("stencil_chain", "expert", CPU), ("interpolate", "small", SM80)],
)
def test_the_first_schedule_computes_everything_at_root(
    name: str, preset: str, device: spaces.Device
) -> None:
    """If inlined Funcs came first, iterating would meet nothing legal in a minute."""
    space = space_of(name, preset, device)
    first = next(Deadline.after(30).each(iter(space)))
    assert all(entry.compute.is_root for entry in first.funcs)


def test_options_change_no_state_before_they_are_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the options where a Func is computed, the next decisions are listed once it is decided."""
    drafts: list[object] = []
    changed = ProcessState.replace

    def recorded(self: ProcessState, **changes: object) -> ProcessState:
        drafts.extend(changes[name] for name in ("draft", "entries") if name in changes)
        return changed(self, **changes)

    monkeypatch.setattr(ProcessState, "replace", recorded)
    partial = small_space(blur(), CPU).start()
    while partial.func != "blur_x":
        partial = partial.take(partial.options[0])
    drafts.clear()
    options = partial.options
    assert len(options) > 1
    assert not drafts
    for option in options:
        after = option.after
        assert after is option.after
        assert after != partial.state
    assert len(drafts) >= len(options)
