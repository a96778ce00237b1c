"""Explanations of empty spaces: minimal sets of rules and menus that exclude everything."""

import attrs
import pytest
import z3

from spaces import (
    Func,
    ImageParam,
    Options,
    Pipeline,
    ScheduleSpace,
    UInt16,
    Var,
    device,
    explain_empty,
    parse_restriction,
    pipeline,
    verify,
)
from spaces.constraints.devices.device import Device
from spaces.constraints.examples import algorithms
from spaces.constraints.solver.clauses import CLOSED
from spaces.constraints.solver.emptiness import Emptiness
from spaces.constraints.solver.emptiness import explain_empty as explain_universe
from spaces.constraints.solver.encode import encode
from spaces.constraints.solver.universe import Decision, Universe
from spaces.enumerate.space.completing.universe import universe
from spaces.model.directives.directives import schedule
from tests.constraints.solver.universes import UNIVERSES
from tests.cpus import FOUR_CORES
from tests.enumerate.pipelines import blur, line, long_chain
from tests.small_space import small_space

CPU, GPU = FOUR_CORES, device("sm_80")
GRID = Options.small(GPU)
EMPTY = {
    "a producer in threads": ScheduleSpace(
        blur(), GPU,
        attrs.evolve(GRID, row_tiles=(64,), tiles=(16,), placements=("at",), inner=("threads",)),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", EMPTY)
def test_every_choice_breaks_one_of_the_rules(name: str):
    space = EMPTY[name]
    assert list(space) == []
    found = explain_empty(space, seconds=60)
    assert (found.answer, found.minimal) == ("empty", True)
    blamed = {(label.rule, label.func) for label in found.rules}
    everything = universe(space)
    for choice in everything.choices():
        verdict = verify(space.pipeline, everything.schedule(choice), space.device)
        assert blamed & {(v.rule, v.func) for v in verdict.violations}


@pytest.mark.parametrize("name", EMPTY)
def test_without_one_of_the_rules_or_menus_something_is_legal(name: str):
    space = EMPTY[name]
    found = explain_empty(space, seconds=60)
    encoded = encode(universe(space), space.device)
    reasons = [encoded.labels[label] for label in found.rules]
    reasons += [encoded.menus[decision.name] for decision in found.decisions]
    ties = [term for label, term in encoded.labels.items() if label.rule == CLOSED]
    assert encoded.solver.check(*ties, *reasons) == z3.unsat
    for one in reasons:
        others = [term for term in reasons if term is not one]
        assert encoded.solver.check(*ties, *others) == z3.sat


def test_the_menus_that_matter_are_named():
    # No strip of 128 or 256 values is in an output of 100, so it gets loops that fit.
    options = Options(root=("strips",), row_tiles=(128, 256), tiles=(8,), lanes=(1,))
    assert explain_empty(ScheduleSpace(line(100), CPU, options)).answer == "inhabited"


def only(device_: Device, rows: tuple[int, ...]) -> Emptiness:
    pipe = algorithms.blur(96, 64)

    def structure(_):
        return schedule(pipe).gpu_tile("x", "y", "xi", "yi", "tx", "ty").schedule

    decisions = (
        Decision("tx", "by", rows),
        Decision("ty", "by", (32, 64)),
    )
    return explain_universe(Universe(pipe, decisions, structure), device_)


def test_options_that_are_needless_are_left_out():
    # Blocks of 64 x 32 = 2048 threads and more.
    found = only(GPU, (64, 80))
    assert [str(label) for label in found.rules] == ["gpu.threads-per-block of by"]
    assert [d.name for d in found.decisions] == ["tx", "ty"]
    assert str(found).splitlines()[2:] == [
        "  tx is one of 64, 80.",
        "  ty is one of 32, 64.",
        "Another option for any of these decisions may help.",
    ]
    # Tiles wider than the output, whatever their height.
    found = only(GPU, (100, 128))
    assert [d.name for d in found.decisions] in (["tx"], ["tx", "ty"])
    # No menu would help on another device.
    found = only(CPU, (8, 16))
    assert [str(label) for label in found.rules] == ["gpu.device of by"]
    assert found.decisions == ()
    assert only(GPU, (8, 64)).answer == "inhabited"


def test_a_decision_without_options_is_the_reason():
    pipe = algorithms.blur()
    without = Decision("tx", "by", ())
    found = explain_universe(Universe(pipe, (without,), lambda _: schedule(pipe).schedule), CPU)
    assert (found.answer, found.decisions) == ("empty", (without,))
    assert "tx has no options." in str(found)


@pytest.mark.parametrize("name", UNIVERSES)
def test_what_is_not_empty_is_not_explained(name: str):
    found = explain_universe(UNIVERSES[name](), GPU, seconds=60)
    assert (found.answer, found.rules) == ("inhabited", ())


def test_what_is_not_known_in_time_is_unknown():
    found = explain_empty(small_space(long_chain(8), CPU), seconds=0.3)
    assert found.answer == "unknown"
    assert "the time was up" in str(found)


def _quotients(stages: int) -> Pipeline:
    """Stages; each reads the one before at a half and a third of the coordinate."""
    x = Var("x")
    image = ImageParam(UInt16, 1, "input")
    source: ImageParam | Func = image
    for number in range(stages):
        func = Func(f"f{number}")
        func[x] = source[x / 2] + source[x / 3]
        source = func
    return pipeline(source, estimates={source: [1024], image: [1024]})


def test_copies_of_inlined_funcs_that_are_too_many_exclude_a_schedule():
    """Each of 24 stages reads the one before at two places, all of them different: the first one
    would have 2**23 copies.
    """
    inlined = ScheduleSpace(_quotients(24), CPU, Options(placements=("inline",)))
    found = explain_empty(inlined, seconds=60)
    assert found.answer == "empty"
    assert {label.rule for label in found.rules} == {"call.inline-size"}
    both = small_space(long_chain(24), CPU)
    assert explain_empty(both, seconds=0.2).answer == "unknown"


def test_a_small_output_has_loops_that_fit() -> None:
    space = ScheduleSpace(line(20), CPU)
    assert explain_empty(space).answer == "inhabited"
    assert next(iter(space))


TILES = Options(row_tiles=(64, 128), tiles=(8, 32), lanes=(1,))


@pytest.mark.parametrize("text", ["parallel_tasks >= 100000", "lanes(blur_x) >= 4096"])
def test_rules_that_a_restriction_does_not_need_are_not_listed(text: str) -> None:
    """It excludes the schedules that the rules exclude, too."""
    space = ScheduleSpace(blur(), CPU, TILES, where=[parse_restriction(text)])
    found = explain_empty(space, seconds=60)
    assert found.minimal
    assert [label.rule for label in found.rules] == [f"where {text}"]


@pytest.mark.parametrize(
    ("on", "options", "text", "rule"),
    [
        (CPU, TILES, "allocations(blur_x) == 1 and visits(blur_x) > 1", "race.shared-storage"),
        (
            GPU,
            Options(root=("blocks",), placements=("inline",), row_tiles=(16, 64), tiles=(4, 32)),
            "threads(blur_y) >= 2000",
            "gpu.threads-per-block",
        ),
    ],
)
def test_rules_that_a_restriction_needs_are_listed(
    on: Device, options: Options, text: str, rule: str
) -> None:
    """Without the rule, schedules would satisfy the restriction."""
    space = ScheduleSpace(blur(), on, options, where=[parse_restriction(text)])
    found = explain_empty(space, seconds=60)
    assert found.answer == "empty"
    assert {label.rule for label in found.rules} == {f"where {parse_restriction(text)}", rule}


def test_a_restriction_is_not_blamed_for_what_rules_exclude() -> None:
    whole = EMPTY["a producer in threads"]
    space = attrs.evolve(whole, where=[parse_restriction("total_bytes >= 0")])
    assert explain_empty(space, seconds=60).rules == explain_empty(whole, seconds=60).rules
