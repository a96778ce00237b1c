"""Proofs for all sizes against runs at some sizes: a proven program shows no mistake when it runs,
and a refuted one shows a mistake at the sizes of its counterexample.
"""

from __future__ import annotations

from attrs import evolve
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from spaces.backend.lowering.start import start
from spaces.backend.replay import Replay, replay_nest
from spaces.backend.replay.report import FaultKind
from spaces.constraints.obligations.records import Refuted
from spaces.constraints.proofs.prove import prove
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.formulas.algebra import evaluate
from spaces.model.nest.loopnest import loop_nest
from spaces.model.schedules.domain_order import LoopKind, OrderedLoop
from spaces.model.schedules.schedule import Fold, FuncSchedule, Schedule
from tests.draw_counts import examples
from tests.drawn_pipelines import schedules, stencil_pipelines

KINDS = st.sampled_from([LoopKind.SERIAL, LoopKind.SERIAL, LoopKind.SERIAL, LoopKind.PARALLEL])


@st.composite
def careless_schedules(draw: st.DrawFn, algorithm: Pipeline) -> Schedule:
    """Schedules with folds and parallel loops anywhere."""

    def careless(func: FuncSchedule) -> FuncSchedule:
        stages = tuple(
            evolve(order, loops=tuple(OrderedLoop(loop.name, draw(KINDS)) for loop in order.loops))
            for order in func.stages
        )
        folds: tuple[Fold, ...] = ()
        if func.name not in algorithm.outputs and draw(st.booleans()):
            folds = (Fold(draw(st.sampled_from("xy")), draw(st.integers(1, 5))),)
        return evolve(func, stages=stages, folds=folds)

    return Schedule(tuple(careless(func) for func in draw(schedules(algorithm)).funcs))


def serious(run: Replay) -> bool:
    """Whether a value or an access is wrong. Races that write and read the right value do not
    count, because proofs allow them.
    """
    harmless = [f for f in run.faults if f.kind is FaultKind.RACE and f.obtained == f.expected]
    return bool(run.wrong) or len(harmless) < len(run.faults)


@settings(max_examples=examples(15, fewest=6), suppress_health_check=list(HealthCheck))
@given(st.data())
def test_proofs_and_runs_agree(data: st.DataObject) -> None:
    algorithm = data.draw(stencil_pipelines(max_stages=3))
    nest = loop_nest(algorithm, data.draw(careless_schedules(algorithm)))
    report = prove(nest, seconds=10)
    for proof in report.refuted:
        assert isinstance(proof.outcome, Refuted)
        run = replay_nest(nest, proof.outcome.counterexample.sizes)
        assert run.shows_a_mistake or run.limit, proof
    if report.refuted or report.unknown:
        return
    output = algorithm.outputs[0]
    extents = data.draw(st.tuples(st.integers(3, 9), st.integers(3, 9)))
    run = replay_nest(nest, {f"{output}.extent.{d}": extent for d, extent in enumerate(extents)})
    if all(evaluate(r.condition, run.sizes) for r in start(nest).size_checks):
        assert not serious(run), str(run)
