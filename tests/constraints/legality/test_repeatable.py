"""The same schedule has the same verdict in every process, for the same work of the solver."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from unittest import mock

import pytest
from attrs import evolve

from spaces import Obligation, Pipeline, Unknown, device, loop_nest, parse_schedule, verify
from spaces.constraints.examples import algorithms
from spaces.constraints.legality import kept_values
from spaces.constraints.obligations import decide
from spaces.constraints.obligations.assumptions import assumptions
from spaces.constraints.obligations.decide import Decider
from spaces.constraints.obligations.folding import folding
from spaces.constraints.obligations.records import Outcome
from spaces.constraints.obligations.sites import Subject
from spaces.constraints.obligations.sliding import sliding
from spaces.constraints.reasoning.solvers import BY_STEPS
from spaces.model.formulas.smt import NO_TIMEOUT, Term, answer
from spaces.model.memo import Memo
from tests.halide_corpus.algorithms import algorithms as corpus
from tests.sliding_windows.moving import moving_pipeline
from tests.sliding_windows.storing import storing_schedule

BORDERLINE = (48, 0), (84, 2), (199, 0)
"""Draws of a pipeline, and its schedules, whose questions take z3 ten thousands of steps."""


class Watched:
    """Notes each answer of the solver and the steps that it took."""

    def __init__(self) -> None:
        self.answers: list[tuple[str, int]] = []

    def __call__(self, solver: Term, *assumed: Term, timeout_ms: int = NO_TIMEOUT) -> Term:
        found = answer(solver, *assumed, timeout_ms=timeout_ms)
        steps = dict(iter(solver.statistics()))["rlimit count"]
        self.answers.append((str(found), steps))
        return found


def draw(number: int, schedule: int) -> tuple[Pipeline, str]:
    """A pipeline, and the text of one of its schedules."""
    rng = random.Random(number)
    algorithm = moving_pipeline(rng)
    return algorithm, [storing_schedule(rng, algorithm) for _ in range(schedule + 1)][-1]


def drawn(number: int, schedule: int) -> list[str]:
    """What is said of a drawn schedule."""
    return judged(*draw(number, schedule))


def judged(algorithm: Pipeline, text: str) -> list[str]:
    """The verdict on a schedule, and the solver's answers."""
    watched, nothing = Watched(), Memo[Outcome](4096)
    remembered = mock.patch.object(kept_values, "_outcomes", nothing)
    with mock.patch.object(decide, "answer", watched), remembered:
        verdict = verify(algorithm, parse_schedule(text, algorithm), device("cpu"))
    return [text, *map(str, verdict.violations), str(watched.answers)]


def all_judged() -> list[str]:
    """The verdicts on borderline schedules."""
    lines = []
    for name, text in (
        ("plateau", "f.store_root().compute_at(g, y)"),
        ("border", "f.store_root().compute_at(g, y)"),
    ):
        lines += judged(corpus()[name].pipeline, text)
    for case in BORDERLINE:
        lines += drawn(*case)
    return lines


def elsewhere(seed: int, before: str) -> str:
    """The verdicts in another process, after other work."""
    code = f"{before}\nfrom tests.constraints.legality.test_repeatable import *\n"
    code += "print('\\n'.join(all_judged()))"
    ran = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONHASHSEED": str(seed)},
        check=True,
        capture_output=True,
        text=True,
    )
    return ran.stdout.strip()


OTHER_WORK = """
import gc
from tests.constraints.legality.test_repeatable import *
gc.disable()
for number in (3, 60):
    drawn(number, 2)
"""


def test_verdicts_do_not_depend_on_the_process() -> None:
    here = "\n".join(all_judged()).strip()
    assert "unsat" in here
    assert "unknown" in here
    assert elsewhere(2, OTHER_WORK) == here


def test_a_second_attempt_decides_what_the_first_gives_up() -> None:
    _, answers = drawn(48, 0)  # no violation
    assert "('unknown', " in answers
    assert "('unsat', " in answers


def test_no_question_that_is_given_up_is_asked_again() -> None:
    asked: list[str] = []

    def noted(solver: Term, *assumed: Term, timeout_ms: int = NO_TIMEOUT) -> Term:
        asked.append(solver.sexpr())
        return answer(solver, *assumed, timeout_ms=timeout_ms)

    spaced = algorithms.spaced()
    text = "by.split(y, y, yi, 4); bx.compute_at(by, yi).store_at(by, y);"
    nest = loop_nest(spaced, parse_schedule(text, spaced))
    subject = Subject(nest, assumptions(nest, None))
    few = tuple(evolve(attempt, steps=5000) for attempt in BY_STEPS)
    decider = Decider(NO_TIMEOUT, attempts=few)
    with mock.patch.object(decide, "answer", noted):
        outcomes = [decider.decide(one, subject.known.all) for one in sliding(subject)]
    assert any(isinstance(outcome, Unknown) for outcome in outcomes)
    assert len(asked) == len(set(asked))


def obligations(number: int, schedule: int) -> tuple[Subject, list[Obligation]]:
    """What is asked of the windows and folds of a drawn nest."""
    algorithm, text = draw(number, schedule)
    nest = loop_nest(algorithm, parse_schedule(text, algorithm))
    subject = Subject(nest, assumptions(nest, None))
    return subject, [*sliding(subject), *folding(subject)]


@pytest.mark.parametrize(("number", "schedule"), [(126, 0), (133, 1)])
def test_an_answer_does_not_depend_on_questions_before(number: int, schedule: int) -> None:
    subject, asked = obligations(number, schedule)

    def answers(order: list[Obligation]) -> dict[str, list[tuple[str, int]]]:
        """The solver's work for each obligation, decided in this order."""
        decider, found = Decider(NO_TIMEOUT, attempts=BY_STEPS), {}
        for one in order:
            watched = Watched()
            with mock.patch.object(decide, "answer", watched):
                decider.decide(one, subject.known.all)
            found[one.statement] = watched.answers
        return found

    forwards = answers(asked)
    assert sum(map(bool, forwards.values())) > 1
    assert answers(asked[::-1]) == forwards
