"""The solver's models of a universe against brute force, and its explanations."""

import functools
import itertools
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
import z3
from attrs import evolve

from spaces import Decision, Schedule, Universe, device, schedule, verify
from spaces.constraints.examples import algorithms
from spaces.constraints.solver.clauses import CLOSED, clauses, readers
from spaces.constraints.solver.encode import Encoded, Models, ModelStream, encode, explain, models
from tests.constraints.solver.universes import UNIVERSES, verdicts
from tests.draw_counts import some

CASES = [
    ("two stages", "sm_75"),
    ("three stages", "cpu"),
    ("updates", "cpu"),
]


@functools.cache
def encoded(name: str, on: str) -> Encoded:
    return encode(UNIVERSES[name](), device(on))


@functools.cache
def all_models(name: str, on: str) -> Models:
    return models(encoded(name, on))


@pytest.mark.parametrize(("name", "on"), CASES)
def test_models_are_what_brute_force_and_verify_accept(name: str, on: str):
    universe = encoded(name, on).universe
    found = all_models(name, on)
    assert found.end == "all"
    given = {frozenset(choice.items()) for choice in found.choices}
    assert len(given) == len(found.choices)
    assert given <= {frozenset(choice.items()) for choice in universe.choices()}
    legal = verdicts(name, on)
    assert {choice for choice in legal if choice in given} == {c for c in legal if legal[c]}
    assert 0 < sum(legal.values()) < len(legal) == len(some(universe.choices()))


@pytest.mark.parametrize(("name", "on"), CASES)
def test_explanations_agree_with_verdicts(name: str, on: str):
    universe = encoded(name, on).universe
    for choice in itertools.islice(universe.choices(), 0, None, 41):
        explanation = explain(encoded(name, on), choice)
        verdict = verify(universe.pipeline, universe.schedule(choice), device(on))
        assert explanation.answer == ("legal" if verdict else "illegal")
        assert {label.rule for label in explanation.rules} <= {v.rule for v in verdict.violations}
        assert bool(explanation.rules) != verdict.legal


def test_core_is_minimal_and_names_the_rule():
    universe = encoded("updates", "cpu")
    choice = {"out order": "serial", "s compute": "root", "s update": "split", "f": 0}
    explanation = explain(universe, choice)
    assert [str(label) for label in explanation.rules] == ["order.factor of s"]
    # Two rules are broken; one of them suffices to exclude the choice.
    both = {**choice, "s compute": "inline"}
    assert len(explain(universe, both).rules) == 1


def test_a_part_of_a_choice_is_explained_too():
    blur = encoded("two stages", "cpu")
    assert explain(blur, {"by order": "tiles"}).answer == "legal"
    explanation = explain(blur, {"by order": "blocks"})
    assert [str(label) for label in explanation.rules] == ["gpu.device of by"]
    explanation = explain(blur, {"by order": "rows", "bx compute": "by.yi"})
    assert [str(label) for label in explanation.rules] == ["call.compute-level of bx"]


def test_numbers_without_effect_are_tied():
    blur = encoded("two stages", "cpu")
    tied = [c for c in blur.clauses if c.rule == CLOSED]
    assert ((("by order", "rows"),), "tx == 4") in [(c.case, str(c.holds)) for c in tied]
    assert {
        c["tx"] for c in all_models("two stages", "cpu").choices if c["by order"] == "rows"
    } == {4}


@pytest.mark.parametrize(("name", "on"), [("updates", "cpu"), ("three stages", "sm_80")])
def test_formulas_as_tables_and_as_arithmetic_have_the_same_models(name, on, monkeypatch):
    expected = all_models(name, on)
    monkeypatch.setattr("spaces.constraints.solver.encode.MAX_TABLE", 0)
    assert models(encode(UNIVERSES[name](), device(on))) == expected


def test_models_stop_at_the_limit_and_at_the_deadline():
    blur = encoded("two stages", "cpu")
    some = models(blur, limit=5)
    assert (len(some.choices), some.end) == (5, "limit")
    none = models(blur, seconds=0)
    assert (none.choices, none.end) == ((), "unknown")
    assert models(blur).end == "all"


def test_mistakes_in_a_universe_are_said():
    pipeline = algorithms.blur()
    default = Schedule.default(pipeline)
    twice = (Decision("d", "by", ("a",)), Decision("d", "bx", ("b",)))
    with pytest.raises(ValueError, match="share a name: d, d"):
        clauses(Universe(pipeline, twice, lambda _: default), device("cpu"))
    with pytest.raises(ValueError, match="no options: d"):
        clauses(Universe(pipeline, (Decision("d", "by", ()),), lambda _: default), device("cpu"))
    half = Schedule(default.funcs[:1])
    with pytest.raises(ValueError, match=r"schedule\.missing-func"):
        clauses(Universe(pipeline, (), lambda _: half), device("cpu"))
    with pytest.raises(KeyError):
        explain(encode(Universe(pipeline, (), lambda _: default), device("cpu")), {"z": "a"})


def test_readers_are_transitive():
    assert readers(algorithms.chain()) == {
        "c": frozenset(),
        "b": frozenset({"c"}),
        "a": frozenset({"b", "c"}),
    }


class Hesitant:
    """A solver that gives up on every question but the first few."""

    def __init__(self, solver: z3.Solver, answers: int) -> None:
        self._solver, self._answers = solver, answers

    def __getattr__(self, name: str):
        return getattr(self._solver, name)

    def check(self, *assumed):
        self._answers -= 1
        return self._solver.check(*assumed) if self._answers >= 0 else z3.unknown


class Alone:
    """A solver that refuses a second user between ``push`` and ``pop``, or during a question."""

    def __init__(self, solver: z3.Solver) -> None:
        self._solver, self._free = solver, threading.RLock()

    def _take(self) -> None:
        assert self._free.acquire(blocking=False)
        time.sleep(0.001)

    def push(self) -> None:
        self._take()
        self._solver.push()

    def pop(self) -> None:
        self._solver.pop()
        self._free.release()

    def check(self, *assumed):
        self._take()
        try:
            return self._solver.check(*assumed)
        finally:
            self._free.release()

    def __getattr__(self, name: str):
        return getattr(self._solver, name)


def test_threads_ask_one_encoding_in_turns():
    whole = encode(UNIVERSES["updates"](), device("cpu"))
    shared = evolve(whole, solver=Alone(whole.solver))
    choices = tuple(itertools.islice(whole.universe.choices(), 0, None, 41))
    expected = [explain(encoded("updates", "cpu"), choice) for choice in choices]
    with ThreadPoolExecutor(3) as threads:
        listed = threads.submit(models, shared)
        explained = [
            threads.submit(lambda: [explain(shared, choice) for choice in choices])
            for _ in range(2)
        ]
        assert listed.result() == all_models("updates", "cpu")
        for one in explained:
            assert one.result() == expected


def hesitant(name: str, on: str, answers: int) -> Encoded:
    whole = encoded(name, on)
    return evolve(whole, solver=Hesitant(whole.solver, answers))


def test_what_the_solver_does_not_answer_is_unknown():
    assert explain(hesitant("updates", "cpu", 0), {}).answer == "unknown"
    for answers in range(3):
        some = models(hesitant("updates", "cpu", answers))
        assert some.end == "unknown"
        assert set(map(str, some.choices)) < set(map(str, all_models("updates", "cpu").choices))


def test_a_rule_stays_in_an_explanation_unless_it_is_surely_needless():
    choice = {"out order": "serial", "s compute": "inline", "s update": "split", "f": 0}
    explanation = explain(hesitant("updates", "cpu", 1), choice)
    assert explanation.answer == "illegal"
    assert explanation.rules


def test_every_decision_takes_an_option():
    pipeline = algorithms.blur()
    broken = schedule(pipeline).split("x", "x", "xi", 0).schedule
    decision = Decision("order", "by", ("split",))
    universe = encode(Universe(pipeline, (decision,), lambda _: broken), device("cpu"))
    assert [str(label) for label in explain(universe, {}).rules] == ["order.factor of by"]


def test_streams_may_rest_while_others_ask():
    blur = encoded("two stages", "cpu")
    everything = all_models("two stages", "cpu").choices
    one, other = ModelStream(blur), ModelStream(blur)
    first, second = iter(one), iter(other)
    found = [next(first), next(first), next(second)]
    assert explain(blur, {"by order": "blocks"}).answer == "illegal"
    found += [next(second), next(first)]
    assert found == [everything[0], everything[1], everything[0], everything[1], everything[2]]
    assert one.end is None
    rest = list(first)
    assert (one.end, len(rest)) == ("all", len(everything) - 3)


def test_a_stream_completes_what_is_given():
    blur = encoded("two stages", "cpu")
    given = {"by order": "tiles", "bx compute": "by.x"}
    stream = ModelStream(blur, given)
    assert list(stream) == [
        c
        for c in all_models("two stages", "cpu").choices
        if all(c[name] == option for name, option in given.items())
    ]
    assert stream.end == "all"
    none = ModelStream(blur, {"by order": "blocks"})
    assert (list(none), none.end) == ([], "all")
    with pytest.raises(KeyError):
        next(iter(ModelStream(blur, {"by order": "none"})))


def test_rules_that_are_not_asked_in_time_are_said():
    with pytest.raises(TimeoutError):
        encode(UNIVERSES["two stages"](), device("cpu"), seconds=0)
