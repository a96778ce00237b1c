"""Rules read only the part of a schedule that their kind names, as the solver needs."""

from collections.abc import Iterable

from attrs import evolve
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from spaces import Expr, derived, device, schedule
from spaces.constraints.legality.judge import ask_calls, ask_matching, ask_own
from spaces.constraints.rules.findings import Asked, sentence_at
from spaces.constraints.rules.matching import open_parameter
from spaces.constraints.rules.records import Records
from spaces.constraints.solver.clauses import readers
from spaces.model.schedules.derive import derivation
from tests.draw_counts import examples
from tests.model.directives.random_directives import derivations, directives_after
from tests.model.pipelines import blur, box, diamond


def answers(asked: Iterable[Asked]) -> list[tuple[str, Expr, str]]:
    return [(a.rule.id, a.check.holds, sentence_at(a.check, {})) for a in asked]


@settings(max_examples=examples(150))
@given(st.data(), st.sampled_from([blur(), box(), diamond()]), st.sampled_from(["cpu", "sm_75"]))
def test_other_entries_do_not_matter(data, pipeline, on):
    start = data.draw(derivations(schedule(pipeline)))
    assume(not derivation(pipeline, start.schedule).refusals)
    pipeline = derived(pipeline, start.schedule)
    first = data.draw(directives_after(start, 8)).schedule
    second = data.draw(directives_after(start, 8)).schedule
    for written in (first, second):
        assert {a.rule for a in ask_matching(pipeline, written)} <= {open_parameter}
    func = data.draw(st.sampled_from([f.name for f in pipeline.functions]))
    around = {func, *readers(pipeline)[func]}
    one = Records(pipeline, first, device(on))
    only_func = evolve(
        second, funcs=tuple(e if e.name != func else first.of(func) for e in second.funcs)
    )
    with_readers = evolve(
        second, funcs=tuple(first.of(e.name) if e.name in around else e for e in second.funcs)
    )
    assert answers(ask_own(Records(pipeline, only_func, device(on)), func)) == answers(
        ask_own(one, func)
    )
    assert answers(ask_calls(Records(pipeline, with_readers, device(on)), func)) == answers(
        ask_calls(one, func)
    )
