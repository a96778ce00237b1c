"""Advice holds: without the directive that it names, a schedule stays legal and means the same."""

import re

from attrs import evolve
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from spaces import device, format_nest, parse_schedule, verify
from spaces.constraints.examples import algorithms
from spaces.constraints.legality.verdict import CheckedSchedule
from spaces.constraints.rules.findings import Advice
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.directives.directives import Directives, schedule
from spaces.model.formulas.algebra import FormulaError, evaluate
from spaces.model.schedules.domain_order import LoopKind, Split, Tail
from spaces.model.schedules.schedule import MemoryType, Schedule
from tests.draw_counts import examples

CPU = device("cpu")
BLUR = algorithms.blur(16, 8)
TAILS = st.sampled_from(["auto", "guard_with_if"])


@st.composite
def loops(draw: st.DrawFn, s: Directives) -> Directives:
    """A split or two of x, and a kind for one of the loops."""
    if draw(st.booleans()):
        s = s.split("x", "x", "xi", draw(st.sampled_from([1, 4, 8, 16])), draw(TAILS))
        if draw(st.booleans()):
            s = s.split("xi", "xi", "xj", draw(st.sampled_from([1, 2, 3, 4])), draw(TAILS))
    name = draw(st.sampled_from([loop.name for loop in s.schedule.of(s.selected).stages[0].loops]))
    return getattr(s, draw(st.sampled_from(["serial", "parallel", "vectorize", "unroll"])))(name)


@st.composite
def schedules(draw: st.DrawFn) -> Schedule:
    """Schedules of the blur: most are legal, and many have a directive without effect."""
    s = draw(loops(schedule(BLUR))).store_in(draw(st.sampled_from(MemoryType)))
    level = draw(st.sampled_from(["x", "y", "root", ""]))
    s = s.func("bx")
    s = s.compute_root() if level == "root" else s.compute_at("by", level) if level else s
    if level and draw(st.booleans()):
        s = s.store_root()
    if draw(st.booleans()):
        s = s.fold_storage("y", draw(st.sampled_from([3, 4, 9, 10, 11])))
    return draw(loops(s)).store_in(draw(st.sampled_from(["auto", "heap"]))).schedule


def checked(pipeline: Pipeline, written: Schedule) -> CheckedSchedule:
    verdict = verify(pipeline, written, CPU)
    assume(isinstance(verdict, CheckedSchedule))
    return verdict


def without(written: Schedule, advice: Advice) -> Schedule:
    """The schedule without the directive that an advice names."""
    entry = written.of(advice.func)
    order = entry.stages[advice.stage]
    match advice.rule:
        case "advice.inlined-order":
            stages = Schedule.default(BLUR).of(advice.func).stages
            return written.replace(evolve(entry, stages=stages))
        case "advice.inlined-storage" | "advice.output-memory":
            return written.replace(evolve(entry, memory=MemoryType.AUTO, folds=()))
        case "advice.fold-too-large":
            return written.replace(evolve(entry, folds=()))
        case "advice.no-window":
            return written.replace(evolve(entry, store=entry.compute))
        case "advice.tail-never-reached":
            splits = tuple(
                evolve(r, tail=Tail.AUTO) if isinstance(r, Split) and r.old == advice.loop else r
                for r in order.splits
            )
            return written.with_stage(advice.func, advice.stage, evolve(order, splits=splits))
        case "advice.single-iteration":
            changed = tuple(
                evolve(loop, kind=LoopKind.SERIAL) if loop.name == advice.loop else loop
                for loop in order.loops
            )
            return written.with_stage(advice.func, advice.stage, evolve(order, loops=changed))
    return written


def meaning(verdict: CheckedSchedule) -> str:
    """The loop nest without kinds of loops."""
    return re.sub(r"\b(parallel|vectorized|unrolled|for) (?=\w+\.)", "", format_nest(verdict.nest))


def stored(verdict: CheckedSchedule, func: str) -> int:
    """The number of stored elements in the first iteration of the loops around."""
    first = {loop.var.name: 0 for loop in verdict.bounds.placements[func].path}
    return evaluate(verdict.bounds.allocations[func].elements, BLUR.sizes() | first)


@settings(max_examples=examples(120))
@given(schedules())
def test_without_what_advice_names_a_schedule_means_the_same(written: Schedule):
    verdict = checked(BLUR, written)
    for advice in verdict.advice:
        other = verify(BLUR, without(written, advice), CPU)
        assert isinstance(other, CheckedSchedule), str(other)
        if advice.rule == "advice.fold-too-large":
            assert stored(other, advice.func) <= stored(verdict, advice.func)
        elif advice.rule == "advice.no-window":
            work = [{n: p.storage.computed for n, p in v.bounds.placements.items()}
                    for v in (verdict, other)]  # fmt: skip
            assert str(work[0]) == str(work[1])
        else:
            assert meaning(other) == meaning(verdict)


@settings(max_examples=examples(60))
@given(schedules())
def test_loops_that_get_no_advice_have_iterations_to_run_at_once(written: Schedule):
    """Extents at the estimates, read off the loops themselves."""
    verdict = checked(BLUR, written)
    told = {(a.func, a.loop) for a in verdict.advice if a.rule == "advice.single-iteration"}
    at_once = (LoopKind.PARALLEL, LoopKind.VECTORIZED, LoopKind.UNROLLED)
    for name, placement in verdict.bounds.placements.items():
        for loop in (loop for stage in placement.stages for loop in stage.loops):
            try:
                extent = evaluate(loop.extent, BLUR.sizes())
            except FormulaError:  # it varies with the loops outside
                continue
            if loop.kind in at_once:
                assert ((name, loop.loop) in told) == (extent == 1)


def test_advice_about_cases_is_told_once():
    """Neither case uses the GPU."""
    gpu = device("sm_80")
    cases = parse_schedule("by.specialize(by.width() >= 8).vectorize(x, 8);", BLUR)
    (idle,) = verify(BLUR, schedule(BLUR).schedule, gpu).advice
    assert verify(BLUR, cases, gpu).advice == (idle,)
    assert len({idle, evolve(idle)}) == 1
    one = parse_schedule("by.specialize(by.width() >= 8).gpu_tile(x, y, xi, yi, 8, 8);", BLUR)
    (elsewhere,) = verify(BLUR, one, gpu).advice
    assert elsewhere.message == f"{idle.message} (Where by.dim(0).extent() < 8.)"


def test_what_is_illegal_has_no_advice():
    assert verify(BLUR, schedule(BLUR).vectorize("nothing").schedule, CPU).advice == ()
