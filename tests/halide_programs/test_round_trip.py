"""Our pipelines and schedules go to Halide, and come back as they were."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from attrs import evolve

pytest.importorskip("halide", reason="Halide's Python package is not installed")

from spaces import (
    APPS,
    ImageBoundsError,
    Pipeline,
    Schedule,
    evaluate,
    parse_schedule,
)
from spaces.apps.gallery.catalog import GALLERY
from spaces.backend.halide.autoschedule import AUTOSCHEDULERS, autoscheduled
from spaces.backend.halide.errors import HalideFailure
from spaces.backend.halide.outgoing.forms import form_in_halide
from spaces.model.algorithm.pipeline import Function
from spaces.model.expressions.expr import Op, walk
from spaces.model.schedules.derivations import RFactor, Wrap
from tests.backend.halide.peer import assert_same_bits
from tests.differential.pipelines import KINDS
from tests.differential.schedules import cpu_schedule
from tests.differential.subjects import EXACT, Subject, subject
from tests.draw_counts import examples, some
from tests.enumerate.pipelines import blur as small_blur
from tests.enumerate.pipelines import row_sums
from tests.halide_programs.round_trip import (
    as_halide_keeps_it,
    live_and_filed,
    there_and_back,
)

SPELLED_OUT = ("fast_exp", "fast_log", "fast_pow", "fast_sin", "fast_cos")
"""Functions that Halide's package replaces by its own approximations."""

SCHEDULES = [
    path
    for name in APPS
    for kind, path in APPS[name].schedules.items()
    if (name, kind) != ("bgu", "gpu")  # Halide rounds up where our automatic tail guards
]

SIMPLIFIED = ("predicate", "partial")
"""Kinds of pipelines with conditions on reduction domains, which Halide simplifies."""


def is_spelled_out(function: Function) -> bool:
    nodes = walk(*(e for stage in function.stages for e in stage.expressions))
    return any(isinstance(node, Op) and node.name in SPELLED_OUT for node in nodes)


def assert_same_record(found: Pipeline, sent: Pipeline) -> None:
    """Asserts that a pipeline came back, but for functions that Halide replaces."""
    replaced = {f.name for f in sent.functions if is_spelled_out(f)}
    assert len(replaced) < len(sent.functions) / 2
    for one, other in zip(found.functions, sent.functions, strict=True):
        assert one == other or one.name in replaced
    assert evolve(found, functions=()) == evolve(sent, functions=())


@pytest.mark.parametrize("name", some([*APPS, *GALLERY]))
def test_each_pipeline_comes_back(name: str) -> None:
    app = APPS[name] if name in APPS else GALLERY[name].app
    sent = as_halide_keeps_it(app.pipeline())
    found = there_and_back(sent)
    assert_same_record(found.pipeline, sent)
    assert found.notes == ()
    assert found.lacks_estimates == ()


@pytest.mark.parametrize(
    "path", some(SCHEDULES), ids=lambda path: f"{path.parent.name}-{path.stem}"
)
def test_each_written_schedule_comes_back(path: Path) -> None:
    sent = as_halide_keeps_it(APPS[path.parent.name].pipeline())
    changed = {f.name for f in sent.functions if any(re.match(r"v_\d", arg) for arg in f.args)}
    lines = path.read_text().splitlines()
    # The names of Vars in Halide, where they have others; wrappers of images keep theirs.
    text = "\n".join(
        re.sub(r"\b_(\d)\b", r"v_\1", line) if line.partition(".")[0] in changed else line
        for line in lines
    )
    schedule = parse_schedule(text, sent)
    found = there_and_back(sent, schedule)
    wanted = form_in_halide(sent, schedule)
    assert form_in_halide(sent, found.schedule) == wanted


@pytest.mark.parametrize("autoscheduler", AUTOSCHEDULERS)
@pytest.mark.parametrize("made", [row_sums, small_blur])
def test_two_readers_find_the_same_schedule_of_an_autoscheduler(
    made: Callable[[], Pipeline], autoscheduler: str
) -> None:
    """One reads the text that the autoscheduler writes, the other what it has done to the Funcs.
    The algorithm comes back as it was.
    """
    sent = as_halide_keeps_it(made())
    found = autoscheduled(sent, autoscheduler, 4)
    done = live_and_filed(found.peer._built, sent.name)
    assert done.pipeline == sent
    form = form_in_halide(sent, done.schedule)
    assert form == form_in_halide(sent, found.schedule)
    assert form != form_in_halide(sent, Schedule.default(sent))


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_drawn_pipelines_and_schedules_come_back(kind: str) -> None:
    rng = random.Random(f"there and back {kind}")
    for _ in range(examples(8, fewest=2)):
        drawn = subject(rng, kind)
        sent = as_halide_keeps_it(drawn.pipeline)
        schedule = cpu_schedule(rng, sent)
        try:
            found = there_and_back(sent, schedule)
        except HalideFailure:  # Halide refuses some schedules when they are made
            found = there_and_back(sent)
            schedule = None
        factored = schedule is not None and any(
            isinstance(step, RFactor) for step in schedule.derivations
        )
        if kind in SIMPLIFIED or factored:
            assert_same_values(found.pipeline, sent, drawn)
        else:
            assert found.pipeline == sent
        assert all(note.startswith("A prefetch at loop ") for note in found.notes)
        is_changed = factored or found.notes or schedule is None or wraps_for_several(schedule)
        if schedule is not None and not is_changed:
            wanted_form = form_in_halide(sent, schedule)
            assert form_in_halide(found.pipeline, found.schedule) == wanted_form


def assert_same_values(found: Pipeline, sent: Pipeline, drawn: Subject) -> None:
    images, sizes = drawn.images, drawn.sizes(EXACT)
    try:
        wanted = evaluate(sent, images, sizes=sizes)
    except ImageBoundsError:  # a few are drawn with images that are too small
        return
    for name, values in evaluate(found, images, sizes=sizes).items():
        assert_same_bits(values, wanted[name], name)


def wraps_for_several(schedule: Schedule) -> bool:
    """Whether a wrapper has several readers, whose order Halide does not keep."""
    return any(isinstance(s, Wrap) and len(s.consumers) > 1 for s in schedule.derivations)
