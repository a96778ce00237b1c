"""The record of the corpus is complete and current, and explains every difference."""

from __future__ import annotations

import attrs
import pytest

from spaces.constraints.rules.catalogue import RULES
from spaces.model.directives.declaration import DIRECTIVES
from spaces.model.writing.chain import directive_calls
from tests.halide_corpus.corpus import cases
from tests.halide_corpus.differences import PAGE, Reason, mistakes, page, reasons
from tests.halide_corpus.record import End, Result, broken_rules, recorded, recorded_version

RERUN = "run python -m tests.halide_corpus"


def test_every_case_is_recorded() -> None:
    assert len(cases()) >= 150
    assert list(recorded()) == list(cases()), RERUN


def test_our_verdicts_are_those_recorded() -> None:
    record = recorded()
    changed = {}
    for name, case in cases().items():
        verdict = case.verdict()
        ours = (verdict.legal, broken_rules(verdict))
        if ours != (record[name].legal, record[name].rules):
            changed[name] = ours
    assert changed == {}, RERUN


def test_every_difference_has_its_reason() -> None:
    assert mistakes(recorded(), reasons()) == []


def test_the_page_shows_the_record() -> None:
    assert PAGE.read_text() == page(recorded_version(), recorded(), reasons()), RERUN


def test_refusals_are_halides_own() -> None:
    refused = (End.DIRECTIVE, End.LOWERING, End.CODEGEN, End.RUN)
    ours = [
        name
        for name, result in recorded().items()
        if result.end in refused and not result.said.startswith("Halide ")
    ]
    assert ours == []


def test_all_directives_are_tried() -> None:
    tried = {
        call.name
        for case in cases().values()
        for stage in directive_calls(case.algorithm.pipeline, case.schedule)
        for call in stage.calls
    }
    # `loops` is not a directive of Halide. A schedule record does not keep these spellings.
    words = {"serial", "partition", "rename", "never_partition_all", "always_partition_all"}
    tried |= {w for w in words for case in cases().values() if f".{w}(" in case.text}
    known = {name for name, one in DIRECTIVES.items() if not one.adds_func} - {"loops"}
    assert known - tried == set()


def test_all_subjects_of_rules_are_tried() -> None:
    broken = {rule.split(".")[0] for result in recorded().values() for rule in result.rules}
    # Text cannot name Funcs outside the pipeline (`schedule`), no case asks for exact results
    # (`exact`), and none has code of its own (`foreign`).
    assert {rule.id.split(".")[0] for rule in RULES} - broken <= {"schedule", "exact", "foreign"}


SAME = Result(True, (), End.EQUAL)
REASON = Reason("a title", "a text", ("p/a",))


@pytest.mark.parametrize(
    ("result", "reason", "words"),
    [
        (SAME, (), None),
        (Result(False, ("order.tail",), End.DIRECTIVE), (), None),
        (Result(False, ("order.tail",), End.TIMEOUT), (), None),
        (Result(False, ("order.tail",), End.EQUAL), (), "0 reasons: illegal by order.tail"),
        (Result(False, ("order.tail",), End.WRONG), (REASON,), None),
        (Result(True, (), End.RUN), (), "0 reasons: legal here"),
        (Result(True, (), End.RUN), (REASON,), None),
        (Result(True, (), End.RUN), (REASON, REASON), "2 reasons"),
        (Result(True, (), End.WRONG), (REASON,), "legal but gives wrong values"),
        (Result(True, (), End.CRASH), (REASON,), "legal but crashes"),
        (Result(True, (), End.WRONG), (attrs.evolve(REASON, evidence="proof"),), None),
        (SAME, (REASON,), "the verdicts agree"),
    ],
)
def test_mistakes_are_found(result: Result, reason: tuple[Reason, ...], words: str | None) -> None:
    found = mistakes({"p/a": result}, reason)
    assert len(found) == (words is not None)
    assert all(str(words) in mistake for mistake in found)


def test_a_reason_for_no_case_is_a_mistake() -> None:
    assert mistakes({}, (REASON,)) == ["There is no case p/a."]
