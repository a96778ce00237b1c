"""One case: a schedule drawn for a subject, its verdict, and whether the verdict is right."""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, TypeVar

from attrs import define, evolve, field, frozen

from spaces.backend.access import AccessMode
from spaces.backend.compile import compile_cpu
from spaces.backend.compile_gpu import compile_gpu
from spaces.backend.cuda.sanitizers import SanitizedEmulator
from spaces.backend.lowering.cpu.passes import lower
from spaces.constraints.devices.device import device
from spaces.constraints.legality.verdict import CheckedSchedule, Illegal
from spaces.constraints.legality.verify import verify
from spaces.model.writing.text import format_schedule
from tests.backend.llvm.guarded_scratch import compile_guarded, run_poisoned
from tests.differential.aims import Aims
from tests.differential.branches import Branches
from tests.differential.cases import (
    CORPUS_EVERY,
    NO_AIMS,
    SHARED,
    Case,
    Seed,
    constructs_of,
    draw,
    draw_near,
    subject_of,
)
from tests.differential.claims import CLAIMS, Claim
from tests.differential.interpreter import Interpreter
from tests.differential.layouts import DENSE
from tests.differential.oracle import Oracle, evidence
from tests.differential.pairs import numbers
from tests.differential.quick_code import quick_code
from tests.differential.schedule_constructs import schedule_constructs
from tests.differential.subjects import Subject
from tests.differential.verdict_checks import (
    accepted,
    placed,
    prove_legal,
    run_code,
    run_kernels,
    run_nest,
)

TRACED_EVERY = 10
"""Of aimed cases whose number this divides, the branches that they take are recorded."""

EVIDENCE_EVERY = 8
"""Of aimed cases whose number this divides, illegal ones are run unchecked to see what is wrong."""

EMULATED_EVERY = 200
"""Of the cases whose number this divides, CUDA text is built and emulated too, by an emulator that
sees each access outside of a buffer (a second each).
"""

HARDENED_EVERY = 20
"""Of the cases whose number this divides, hardened CUDA text is built and emulated."""

CALLED_EVERY = 3
"""Of GPU cases whose number this divides, the host program runs on arrays that are not dense."""

HARDENED = AccessMode.HARDENED
T = TypeVar("T")


@frozen
class Outcome:
    """What became of a case.

    Attributes:
        kind: that of its pipeline.
        drawn: how its schedule was drawn.
        target: the name of its device.
        legal: the verdict.
        rules: ids of the rules that it breaks, each once.
        shown: for an illegal one about which a rule claims wrong results, what was seen to go
            wrong unchecked; empty where nothing was.
        runs: what was run and found to be as the reference says, or refused for its sizes as the
            verdict's size conditions say.
        mismatch: what is not as the verdict says; empty where all is.
        constructs: what the case is made of, by number.
        branches: those that it took and none before it, where they were recorded.
    """

    kind: str
    drawn: str
    target: str
    legal: bool
    rules: tuple[str, ...] = ()
    shown: str = ""
    runs: Mapping[str, int] = {}
    mismatch: str = ""
    constructs: tuple[int, ...] = ()
    branches: tuple[int, ...] = ()


@define
class Fuzzer:
    """Checks cases in order; subjects are kept as long as cases share them.

    Of legal cases for a CPU those whose number ``compiled_every`` divides are compiled and run; the
    others are only lowered. The loop nest of every case is run value by value.  Those whose number
    ``proven_every`` divides are proven; others are for callers that prove on their own. ``seconds``
    has the processor time of each kind of work. Cases are drawn towards ``aims``, and some from
    ``corpus``; ``branches`` are those that are known.
    """

    seed: int
    compiled_every: int = 1
    aims: Aims = NO_AIMS
    corpus: tuple[Seed, ...] = ()
    branches: Branches = field(factory=Branches)
    seconds: dict[str, float] = field(factory=dict)
    proven_every: int = 1
    _shared: int = -1
    _oracle: Oracle | None = None

    def check(self, number: int) -> Outcome:
        """Draw the case of a number, and hold what happens against the verdict."""
        if not self.aims or number % TRACED_EVERY:
            return self._check(number)
        self.oracle(number)
        with self.branches.recorded() as new:
            outcome = self._check(number)
        return evolve(outcome, branches=tuple(new))

    def _check(self, number: int) -> Outcome:
        try:
            case, oracle = self.case(number), self.oracle(number)
        except Exception as error:
            return Outcome("none", "none", "cpu", False, mismatch=f"drawing raises {error!r}")
        constructs = numbers(constructs_of(case) | oracle.subject.constructs)
        return evolve(self.judge(case, oracle), constructs=tuple(constructs))

    def case(self, number: int) -> Case:
        """The case of a number."""
        pipeline, origin = self.oracle(number).subject.pipeline, self._origin(number)
        if origin is not None:
            near = (self.seed, number, pipeline, origin, self.aims)
            return self.timed("draw", draw_near, *near)
        return self.timed("draw", draw, self.seed, number, pipeline, self.aims)

    def _origin(self, number: int) -> Seed | None:
        """The case of the corpus that a case is drawn from; None for most."""
        turn = number // SHARED
        if not self.corpus or turn % CORPUS_EVERY != 3:
            return None
        return random.Random(f"{self.seed} corpus {turn}").choice(self.corpus)

    def told(self, number: int, outcome: Outcome) -> str:
        """The case of a number, and how it fails, as a person wants to read it."""
        try:
            return told(self.case(number), self.oracle(number), outcome)
        except Exception:
            return f"seed {self.seed}, case {number}: {outcome.mismatch}"

    def oracle(self, number: int) -> Oracle:
        """The oracle of the subject of a case."""
        if self._oracle is None or number // SHARED != self._shared:
            drawn = self._origin(number) or Seed(number, self.aims)
            made = self.timed("subject", subject_of, self.seed, drawn.number, drawn.aims)
            self._oracle, self._shared = Oracle(made), number // SHARED
        return self._oracle

    def judge(self, case: Case, oracle: Oracle) -> Outcome:
        """The outcome of a case."""
        pipeline, kind = oracle.subject.pipeline, oracle.subject.kind
        target = device(case.target)
        try:
            verdict = self.timed("verify", verify, pipeline, case.schedule, target)
        except Exception as error:
            mismatch = f"verify raises {type(error).__name__}: {error}"
            return Outcome(kind, case.drawn, case.target, legal=False, mismatch=mismatch)
        if isinstance(verdict, CheckedSchedule):
            return self.judge_legal(case, oracle, verdict)
        outcome = refused(case, kind, verdict)
        if outcome.mismatch or (self.aims and case.number % EVIDENCE_EVERY):
            return outcome
        if any(CLAIMS.get(rule) is Claim.WRONG for rule in outcome.rules):
            shown = self.timed("evidence", evidence, oracle, case.schedule)
            return evolve(outcome, shown=shown)
        return outcome

    def judge_legal(self, case: Case, oracle: Oracle, verdict: CheckedSchedule) -> Outcome:
        """The outcome of a case that is legal."""
        outcome = Outcome(oracle.subject.kind, case.drawn, case.target, legal=True)
        try:
            runs = self._checked(case, oracle, verdict)
        except Exception as error:
            return evolve(outcome, mismatch=f"{type(error).__name__}: {error}")
        return evolve(outcome, runs=runs)

    def _checked(self, case: Case, oracle: Oracle, verdict: CheckedSchedule) -> Counter[str]:
        """What was run of a legal schedule, and how often.

        Raises:
            Mismatch: something is not as the reference says.
        """
        self.timed("shadow", run_nest, oracle, verdict)
        proofs = Counter[str]()
        if case.number % self.proven_every == 0:
            proofs = self.timed("prove", prove_legal, verdict)
        if case.target == "cpu" and case.number % self.compiled_every:
            self.timed("lower", lower, verdict.nest)
            return proofs + Counter(lowered=1)
        if case.target == "cpu":
            runs = self._compiled(case, oracle, verdict)
            return proofs + Counter(hardened=1, compiled=runs.pop("ran", 0)) + runs
        return proofs + self._on_gpu(case, oracle, verdict)

    def _on_gpu(self, case: Case, oracle: Oracle, verdict: CheckedSchedule) -> Counter[str]:
        """Kernels over memory that knows who wrote what; where they have company on the host, or
        arrays have gaps, also the host program on real arrays.
        """
        made = self.timed("print", compile_gpu, verdict)
        runs = self.timed("interpret", run_kernels, oracle, verdict, made)
        if is_called(case, oracle.subject):
            interpreted = placed(partial(made.run, executor=Interpreter(made)), oracle)
            small = accepted(oracle, verdict)
            sizes = () if small is None else (small,)
            called = self.timed("call", run_code, oracle, verdict, interpreted, sizes)
            runs["called"] = called["ran"]
        if case.number % EMULATED_EVERY == 0:
            guarded = SanitizedEmulator("address,undefined", "shuffled", seed=case.number)
            emulator = placed(partial(made.run, executor=guarded), oracle)
            emulated = self.timed("emulate", run_code, oracle, verdict, emulator)
            runs["emulated"] = emulated["ran"]
        if case.number % HARDENED_EVERY == 0:
            hardened = compile_gpu(verdict, access_mode=HARDENED)
            emulator = placed(hardened.run, oracle)
            emulated = self.timed("emulate", run_code, oracle, verdict, emulator)
            runs["hardened emulated"] = emulated["ran"]
        return runs

    def _compiled(self, case: Case, oracle: Oracle, verdict: CheckedSchedule) -> Counter[str]:
        """Hardened code, as it is written; in a share of cases also the code that users get, with
        what it is given under guard, or, every other time, its scratch.
        """
        hardened = partial(compile_cpu, access_mode=HARDENED)
        with quick_code():
            compiled = self.timed("compile", hardened, verdict)
            run = placed(compiled.run, oracle)
            runs = self.timed("run", run_code, oracle, verdict, run)
        if not is_optimised(case):
            return runs
        if case.number % 2:
            guarded = self.timed("optimise", compile_guarded, verdict)
            plain = partial(run_poisoned, guarded)
        else:
            compiled = self.timed("optimise", compile_cpu, verdict)
            plain = placed(compiled.run, oracle)
        optimised = self.timed("run", run_code, oracle, verdict, plain)
        return runs + Counter(optimised=optimised["ran"])

    def timed(self, what: str, function: Callable[..., T], *args: Any) -> T:
        """Call ``function``, adding its processor time to ``what``."""
        began = time.process_time()
        try:
            return function(*args)
        finally:
            spent = time.process_time() - began
            self.seconds[what] = self.seconds.get(what, 0.0) + spent


def refused(case: Case, kind: str, verdict: Illegal) -> Outcome:
    """The outcome of a case that is illegal; nothing is run to see what goes wrong."""
    rules = tuple(sorted({v.rule for v in verdict.violations}))
    outcome = Outcome(kind, case.drawn, case.target, legal=False, rules=rules)
    if not rules:
        return evolve(outcome, mismatch="illegal, but no rule is named")
    silent = [v.rule for v in verdict.violations if len(v.message.split()) < 4]
    return evolve(outcome, mismatch=f"{silent[0]} says nothing") if silent else outcome


def is_optimised(case: Case) -> bool:
    """Whether LLVM's optimiser sees a case: one of four, of even numbers and of odd ones."""
    return case.number % 4 == case.number // 4 % 4


def is_called(case: Case, subject: Subject) -> bool:
    """Whether the host program of a GPU case runs on real arrays: it has parts that the host
    computes beside kernels. In a share of the others some array is not dense.
    """
    beside = any(c.startswith("host: ") for c in schedule_constructs(case.schedule))
    is_dense = set(subject.layouts.values()) <= {DENSE}
    return beside or (case.number % CALLED_EVERY == 0 and not is_dense)


def told(case: Case, oracle: Oracle, outcome: Outcome) -> str:
    """A case as a person wants to read it when it fails."""
    pipeline = oracle.subject.pipeline
    try:
        text = format_schedule(case.schedule, pipeline)
    except Exception as error:
        text = f"{case.schedule!r}\n({error!r})"
    return "\n".join(
        (
            f"seed {case.seed}, case {case.number}: {outcome.kind}, {case.drawn}, {case.target}",
            f"estimates: {pipeline.sizes() or 'none'}",
            *(f"size {i}: {sizes}" for i, sizes in enumerate(oracle.subject.outputs)),
            f"memory: {oracle.subject.layouts}",
            text,
            f"-> {outcome.mismatch or outcome.rules}",
            f"python -m tests.differential --seed {case.seed} --only {case.number}",
        )
    )
