"""Replays of broken schedules: they report the mistakes, and correct schedules show none."""

from __future__ import annotations

import numpy as np
import pytest
from attrs import evolve
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from spaces.backend.lowering.gpu.passes import lower_gpu
from spaces.backend.lowering.start import start
from spaces.backend.replay import Replay, machine, replay_kernels, replay_nest
from spaces.backend.replay.inputs import inputs_for
from spaces.backend.replay.memory import ReplayBuffer
from spaces.backend.replay.report import FaultKind
from spaces.constraints.devices.device import device
from spaces.constraints.examples import algorithms
from spaces.constraints.legality.verdict import CheckedSchedule
from spaces.constraints.legality.verify import verify
from spaces.model.algorithm.freeze import pipeline
from spaces.model.algorithm.func import Func
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.algorithm.rdom import RDom
from spaces.model.algorithm.var import Var
from spaces.model.directives.directives import Directives, schedule
from spaces.model.expressions.types import Int32
from spaces.model.formulas.algebra import evaluate
from spaces.model.nest.loopnest import Allocate, Compute, LoopNest, NestNode, loop_nest
from spaces.model.schedules.schedule import Fold
from tests.backend.cpu_pipelines import edge_pipelines, typed_pipelines, update_pipelines
from tests.backend.cpu_schedules import cpu_schedules
from tests.backend.cuda.gpu_strategies import gpu_schedules, stencil_chains
from tests.constraints import pipelines
from tests.constraints.proofs.broken import nest_of, shortened
from tests.draw_counts import examples
from tests.drawn_pipelines import schedules, stencil_pipelines
from tests.model.nest.nest_interpreter import NestError, run_nest

BLUR, TOTAL, HORNER = algorithms.blur(), algorithms.total(), algorithms.horner()
D = schedule(BLUR)
BX = D.func("bx")
SUM = schedule(TOTAL).func("s").compute_root().update(0)
POWERS = schedule(HORNER).func("s").compute_root().update(0)
SMALL = {"by.extent.0": 6, "by.extent.1": 5}


def played(directives: Directives, algorithm: Pipeline = BLUR, **sizes: int) -> Replay:
    return replay_nest(loop_nest(algorithm, directives.schedule), sizes or SMALL)


SLIDING = BX.store_root().compute_at("by", "y")
IN_PARALLEL = D.parallel("y").func("bx").store_root().compute_at("by", "y")

WRONG_ACCESSES = [
    (BLUR, SLIDING.fold_storage("y", 2), FaultKind.OVERWRITTEN, "read", "bx"),
    (BLUR, IN_PARALLEL, FaultKind.RACE, "read", "bx"),
    (BLUR, IN_PARALLEL.fold_storage("y", 3), FaultKind.RACE, "write", "bx"),
    (BLUR, D.split("x", "x", "xi", 4, "round_up"), FaultKind.OUTSIDE, "write", "by"),
    (BLUR, D.split("x", "x", "xi", 8, "shift_inwards"), FaultKind.OUTSIDE, "write", "by"),
    (TOTAL, SUM.parallel("r.y"), FaultKind.RACE, "read", "s"),
    (TOTAL, SUM.gpu_blocks("y").gpu_threads("r.x"), FaultKind.RACE, "write", "s"),
]


@pytest.mark.parametrize(("algorithm", "directives", "mistake", "access", "buffer"), WRONG_ACCESSES)
def test_a_wrong_access_is_shown(
    algorithm: Pipeline, directives: Directives, mistake: FaultKind, access: str, buffer: str
) -> None:
    found = played(directives, algorithm)
    assert (mistake, access, buffer) in {(f.kind, f.access, f.buffer) for f in found.faults}


WRONG_VALUES = [
    (BLUR, SLIDING.fold_storage("y", 2)),
    (BLUR, IN_PARALLEL.fold_storage("y", 3)),
    (TOTAL, SUM.parallel("r.y")),
    (TOTAL, SUM.reorder("r.y", "r.x").vectorize("r.y")),
    (HORNER, POWERS.reorder("r.y", "r.x")),
    (HORNER, POWERS.parallel("r.y")),
]


@pytest.mark.parametrize(("algorithm", "directives"), WRONG_VALUES)
def test_a_wrong_value_is_shown(algorithm: Pipeline, directives: Directives) -> None:
    (wrong,) = played(directives, algorithm).wrong
    assert wrong.output == algorithm.outputs[0]
    assert wrong.obtained != wrong.expected


def test_reads_beyond_an_image_are_shown() -> None:
    directives = BX.compute_root().split("x", "x", "xi", 4, "round_up")
    image = {"input.min.0": 0, "input.extent.0": 8, "input.min.1": 0, "input.extent.1": 7}
    found = played(directives, BLUR, **SMALL, **image)
    fault = next(f for f in found.faults if f.buffer == "input")
    assert (fault.kind, fault.access, fault.coordinate) == (FaultKind.OUTSIDE, "read", (8, 0))
    assert not found.wrong


def tampered(nest: LoopNest, change: dict[str, tuple[int, int]]) -> LoopNest:
    """The nest with the first coordinate and the extent of some allocations changed along y."""

    def visit(node: NestNode) -> NestNode:
        if isinstance(node, Compute):
            return node
        node = evolve(node, body=tuple(visit(inner) for inner in node.body))
        if isinstance(node, Allocate) and node.func in change:
            shift, growth = change[node.func]
            mins = (*node.mins[:-1], node.mins[-1] + shift)
            return evolve(node, mins=mins, extents=(*node.extents[:-1], node.extents[-1] + growth))
        return node

    return evolve(nest, body=tuple(visit(node) for node in nest.body))


def test_an_allocation_that_is_too_small_is_shown_with_the_value_expected() -> None:
    nest = tampered(loop_nest(BLUR, BX.compute_root().schedule), {"bx": (0, -1)})
    image = {"input.min.0": 0, "input.extent.0": 8, "input.min.1": 0, "input.extent.1": 7}
    found = replay_nest(nest, {**SMALL, **image})
    assert {f.access for f in found.faults if f.kind is FaultKind.OUTSIDE} == {"read", "write"}
    read = next(f for f in found.faults if f.access == "read")
    assert read.coordinate == (0, 6)
    assert read.iteration == {"by.s0.y": 4, "by.s0.x": 0}
    assert read.expected is not None
    assert read.obtained != read.expected
    assert found.wrong[0].coordinate == (0, 4)
    assert (found.wrong[0].wrong, found.wrong[0].elements) == (6, 30)


def test_wrong_accesses_or_wrong_outputs_are_a_mistake() -> None:
    found = replay_nest(
        tampered(loop_nest(BLUR, BX.compute_root().schedule), {"bx": (0, -1)}), SMALL
    )
    assert found.faults
    assert found.wrong
    assert found.shows_a_mistake
    assert evolve(found, wrong=()).shows_a_mistake
    assert evolve(found, faults=()).shows_a_mistake
    assert not evolve(found, faults=(), wrong=()).shows_a_mistake


def test_an_allocation_that_begins_elsewhere_is_shown() -> None:
    nest = tampered(loop_nest(BLUR, BX.compute_at("by", "y").schedule), {"bx": (1, 0)})
    assert any(
        f.kind is FaultKind.OUTSIDE and f.buffer == "bx" for f in replay_nest(nest, SMALL).faults
    )


def test_values_expected_are_those_of_the_algorithm() -> None:
    x = Var("x")
    squares, last = Func("squares"), Func("last")
    squares[x] = x * x
    last[x] = squares[x] + squares[x + 3]
    p = pipeline(last)
    sliding = schedule(p).func("squares").store_root().compute_at("last", "x")
    found = replay_nest(loop_nest(p, sliding.fold_storage("x", 2).schedule), {"last.extent.0": 6})
    fault = found.faults[0]
    assert fault.expected == fault.coordinate[0] ** 2
    wrong = found.wrong[0]
    assert wrong.expected == wrong.coordinate[0] ** 2 + (wrong.coordinate[0] + 3) ** 2


def test_a_lost_update_is_shown_where_all_add_to_one_place() -> None:
    x = Var("x")
    r = RDom([(0, 4)], "r")
    count = Func("count")
    count[x] = 0
    count[x] += r.x + 1
    p = pipeline(count)
    found = replay_nest(
        loop_nest(p, schedule(p).update(0).parallel("r.x").schedule), {"count.extent.0": 1}
    )
    wrong = found.wrong[0]
    assert wrong.expected == 1 + 2 + 3 + 4
    assert wrong.obtained == 4  # in turns, each adds to the first value, and the last store stays


def test_an_atomic_update_of_a_place_that_holds_another_value_is_shown() -> None:
    x, r = Var("x"), RDom([(0, 4)], "r")
    count, out = Func("count"), Func("out")
    count[x] = x
    count[x] += r.x
    out[x] = count[x] + count[x + 1]
    p = pipeline(out)
    sliding = schedule(p).func("count").store_root().compute_at("out", "x")
    atomic = sliding.fold_storage("x", 1).update(0).atomic().parallel("r.x")
    found = replay_nest(loop_nest(p, atomic.schedule), {"out.extent.0": 3})
    first = found.faults[0]
    assert (first.kind, first.access, first.buffer) == (FaultKind.OVERWRITTEN, "read", "count")
    assert first.coordinate == (0,)
    assert set(first.iteration) == {"out.s0.x", "count.s1.x", "count.s1.r.x"}


def test_a_report_says_what_happened_in_words() -> None:
    said = str(played(SLIDING.fold_storage("y", 2)))
    assert "bx(0, 0) is read at by.s0.y = 0, by.s0.x = 0, but its place holds bx(0, 2)" in said
    assert "values of by are wrong" in said
    right = str(played(SLIDING))
    assert right == "Every access is right, and the outputs are those of the reference."


def test_too_much_work_is_said_plainly(monkeypatch: pytest.MonkeyPatch) -> None:
    found = played(D, BLUR, **{"by.extent.0": 3000, "by.extent.1": 3000})
    assert "too large to run value by value" in found.limit
    assert found.limit in str(found)
    monkeypatch.setattr(machine, "MOST_WORK", 100)
    long = played(D)
    assert "too much work" in long.limit
    assert not long.orders
    assert not long.shows_a_mistake


@settings(max_examples=examples(12, fewest=6), suppress_health_check=[HealthCheck.filter_too_much])
@given(st.data())
def test_legal_schedules_replay_without_fault(data: st.DataObject) -> None:
    algorithm = data.draw(st.one_of(typed_pipelines(), edge_pipelines(), update_pipelines()))
    checked = verify(algorithm, data.draw(cpu_schedules(algorithm)), device("cpu"))
    assume(checked.legal)
    assert isinstance(checked, CheckedSchedule)
    found = replay_nest(checked.nest, data.draw(sizes_of(algorithm)))
    assume(all(evaluate(r.condition, found.sizes) for r in start(checked.nest).size_checks))
    assert not found.shows_a_mistake, str(found)


@settings(max_examples=examples(12, fewest=5), suppress_health_check=[HealthCheck.filter_too_much])
@given(st.data())
def test_legal_gpu_schedules_replay_without_fault(data: st.DataObject) -> None:
    algorithm = data.draw(stencil_chains())
    checked = verify(algorithm, data.draw(gpu_schedules(algorithm)), device("sm_80"))
    assume(checked.legal)
    assert isinstance(checked, CheckedSchedule)
    sizes = data.draw(sizes_of(algorithm))
    found = replay_nest(checked.nest, sizes)
    assume(all(evaluate(r.condition, found.sizes) for r in start(checked.nest).size_checks))
    assert not found.shows_a_mistake, str(found)
    lowered = replay_kernels(checked.nest, lower_gpu(checked.nest), sizes)
    assert not lowered.shows_a_mistake, str(lowered)


def test_values_from_unset_values_are_wrong_where_another_func_reads_them() -> None:
    memory = ReplayBuffer("f", Int32, ((0, 4),), (None,))
    _, unset = memory.read((0,), ())
    assert unset is not None
    memory.write((1,), 7, (), unset)
    assert memory.read((1,), ()) == (7, unset)
    assert list(memory.made_of_unset) == [((1,), 7, unset)]
    memory.write((1,), 8, ())
    assert memory.read((1,), ()) == (8, None)


def scan_of_all() -> Pipeline:
    """An update changes 8 values, and ``out`` reads them."""
    x, r = Var("x"), RDom([(0, 8)], "r")
    f, out = Func("f"), Func("out")
    f[x] = x * 3
    f[r.x] = f[r.x] + 1
    out[x] = f[x]
    return pipeline(out)


def test_what_an_update_makes_of_unset_values_is_wrong_where_another_reads_it() -> None:
    plain = nest_of(scan_of_all(), lambda d: d.func("f").compute_root())
    assert not replay_nest(plain, {"out.extent.0": 8}).faults
    (fault,) = replay_nest(shortened(plain, "f", "x"), {"out.extent.0": 8}).faults
    assert (fault.kind, fault.access, fault.buffer) == (FaultKind.UNWRITTEN, "read", "f")
    assert fault.coordinate == (7,)
    assert set(fault.iteration) == {"out.s0.x"}


def test_an_unset_value_of_another_func_is_wrong_where_it_is_read() -> None:
    found = replay_nest(shortened(nest_of(BLUR, bx_at_root), "bx", "y"), SMALL)
    assert {(f.kind, f.access, f.buffer) for f in found.faults} == {
        (FaultKind.UNWRITTEN, "read", "bx")
    }


def bx_at_root(directives: Directives) -> Directives:
    return directives.func("bx").compute_root()


@st.composite
def sizes_of(draw: st.DrawFn, algorithm: Pipeline) -> dict[str, int]:
    """Sizes of the output; some do not begin at 0."""
    output = algorithm.outputs[0]
    sizes = {}
    for d in range(len(algorithm.function(output).args)):
        sizes[f"{output}.extent.{d}"] = draw(st.integers(4, 9))
        sizes[f"{output}.min.{d}"] = draw(st.integers(-2, 2))
    return sizes


@settings(max_examples=examples(30))
@given(st.data())
def test_faults_are_found_where_the_nest_reads_and_writes_wrongly(data: st.DataObject) -> None:
    """An interpreter that shares no code with the replay ends at the first wrong access."""
    algorithm = data.draw(stencil_pipelines())
    plain = data.draw(schedules(algorithm))
    for func in plain.funcs:
        if func.name not in algorithm.outputs and data.draw(st.booleans()):
            fold = Fold(data.draw(st.sampled_from("xy")), data.draw(st.integers(1, 5)))
            plain = plain.replace(evolve(func, folds=(fold,)))
    nest = loop_nest(algorithm, plain)
    found = replay_nest(nest, data.draw(sizes_of(algorithm)))
    try:
        run_nest(nest, found.sizes, lambda name, at: at[0] * 31 + at[1])
    except NestError:
        assert any(f.buffer != "input" for f in found.faults)
    else:
        assert not any(f.buffer != "input" for f in found.faults), str(found)
        assert not found.wrong


def test_images_are_filled_with_values_that_differ() -> None:
    for algorithm in (algorithms.blur(), algorithms.float_total(), pipelines.offset()):
        nest = loop_nest(algorithm, schedule(algorithm).schedule)
        values = inputs_for(nest, {}).images["input"]
        assert len(np.unique(values)) == values.size


def test_storage_knows_who_may_run_at_the_same_time() -> None:
    first, second, later = ((1, "y = 0"),), ((1, "y = 1"),), ((2, "y = 1"),)
    storage = ReplayBuffer("f", Int32, ((0, 4),), (None,))
    assert storage.write((0,), 5, first) is None
    assert storage.read((0,), first) == (5, None)
    changed_while_read = storage.write((0,), 6, first)
    assert changed_while_read is None  # by the same iteration
    storage.read((0,), first)
    for path, mistake in ((second, FaultKind.RACE), (later, None)):
        again = ReplayBuffer("f", Int32, ((0, 4),), (None,))
        again.write((0,), 5, ())
        again.read((0,), first)
        found = again.write((0,), 6, path)
        assert (found.kind if found else None) == mistake
