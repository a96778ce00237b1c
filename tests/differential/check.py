"""One case: a schedule drawn for a subject, its verdict, and whether the verdict is right."""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar

import numpy as np
from attrs import define, evolve, field, frozen
from numpy.typing import NDArray

from spaces.backend.access import AccessMode
from spaces.backend.compile import compile_cpu
from spaces.backend.compile_gpu import compile_gpu
from spaces.backend.cuda.sanitizers import SanitizedEmulator
from spaces.backend.gpu_pipeline import GpuPipeline
from spaces.backend.lowering.cpu.passes import lower
from spaces.backend.preconditions import SizeError
from spaces.constraints.devices.device import device
from spaces.constraints.legality.verdict import CheckedSchedule, Illegal
from spaces.constraints.legality.verify import verify
from spaces.constraints.proofs.prove import prove
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.formulas.algebra import evaluate as number
from spaces.model.schedules.schedule import Schedule
from spaces.model.writing.text import format_schedule
from tests.backend.llvm.guarded_scratch import Rubbish, compile_guarded, run_poisoned
from tests.differential.additions import with_constructs
from tests.differential.aims import Aims
from tests.differential.branches import Branches
from tests.differential.claims import CLAIMS, Claim
from tests.differential.gpu_machine import GpuMachine
from tests.differential.gpu_schedules import gpu_schedule
from tests.differential.interpreter import Interpreter
from tests.differential.layouts import DENSE, run_placed
from tests.differential.mutations import mutated
from tests.differential.oracle import Oracle, evidence
from tests.differential.pairs import numbers
from tests.differential.pipelines import KINDS
from tests.differential.quick_code import quick_code
from tests.differential.rounding import is_close, tolerances
from tests.differential.schedule_constructs import schedule_constructs
from tests.differential.schedules import cpu_schedule
from tests.differential.shadow import Shadow, TooLong, Trouble
from tests.differential.stored import stored_elements
from tests.differential.subjects import COMPOSED, EXACT, LARGE, ODD, Subject, subject
from tests.differential.wild import wild_schedule

CLASSES = ("constructed", "near", "wild")
"""How a schedule is drawn: to be legal, by an edit of a legal one, or blindly."""

CORPUS = "corpus"
"""How it is drawn else: by edits of one that took branches which none had taken before."""

CORPUS_EVERY = 8
"""Of the groups of cases that share a subject, how many have one of the corpus, if there is any."""

TRACED_EVERY = 10
"""Of aimed cases whose number this divides, the branches that they take are recorded."""

_SHARES = (0.42, 0.36, 0.22)
_AIMED_SHARES = (0.75, 0.17, 0.08)
"""The same where cases are aimed."""

SHARED = 10
"""Cases that share a subject, its images and its reference values."""

_FAMILIES_EVERY = (1, 2)
"""Of the groups of cases that share a subject, how many have one of a family, without aims and with
them; the others have composed pipelines.
"""

_TRIES = 3
"""How often a case that aims at something is drawn again."""

_GPU_SHARE = 0.25
_DEVICES = ("sm_70", "sm_80", "sm_90", "sm_120")

NO_AIMS = Aims()
_OF_GPUS = frozenset(
    ("device: gpu", "loop: gpu_block", "loop: gpu_thread", "update loop: gpu_block",
     "update loop: gpu_thread", "memory: gpu_shared", "single: __block", "single: __thread",
     "directive: split of one iteration", "host: a Func", "host: a pure stage",
     "host: an update")
)  # fmt: skip
_OF_CPUS = frozenset(
    ("device: cpu", "loop: parallel", "update loop: parallel", "directive: atomic",
     "prefetch: clamp", "prefetch: guard_with_if", "prefetch: non_faulting")
)  # fmt: skip
"""Constructs that mostly have a meaning on one kind of device."""


EVIDENCE_EVERY = 8
"""Of aimed cases whose number this divides, illegal ones are run unchecked to see what is wrong."""

MOST_STORED = 1 << 26
"""Elements of all arrays of a case together, beyond which it is not run."""

EMULATED_EVERY = 200
"""Of the cases whose number this divides, CUDA text is built and emulated too, by an emulator that
sees each access outside of a buffer (a second each).
"""

HARDENED_EVERY = 20
"""Of the cases whose number this divides, hardened CUDA text is built and emulated."""

CALLED_EVERY = 3
"""Of GPU cases whose number this divides, the host program runs on arrays that are not dense."""

OBLIGATION_MS, PROOF_SECONDS = 50, 0.5
"""The time of the solver for one obligation, and the time of all proofs about a schedule."""

PROVEN, UNKNOWN, CASES_PROVEN = "obligations proven", "obligations unknown", "cases proven"
"""Names of counts of proofs."""

REFUTED = "legal, but refuted"
"""How a mismatch begins that a proof shows."""

HARDENED = AccessMode.HARDENED
Outputs = Mapping[str, NDArray[Any]]
T = TypeVar("T")


class Mismatch(Exception):
    """What happens is not what the verdict says."""


@frozen
class Case:
    """A schedule for a subject and a device, and how it was drawn."""

    seed: int
    number: int
    drawn: str
    target: str
    schedule: Schedule


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


def subject_of(seed: int, number: int, aims: Aims = NO_AIMS) -> Subject:
    """The subject of a case: composed, or of the families, which take turns."""
    turn = number // SHARED
    rng = random.Random(f"{seed} subject {turn}")
    every = _FAMILIES_EVERY[bool(aims)]
    if turn % every:
        return subject(rng, COMPOSED, aims.of_subject(seed, turn))
    kinds = sorted(KINDS)
    return subject(rng, kinds[turn // every % len(kinds)])


def draw(seed: int, number: int, pipeline: Pipeline, aims: Aims = NO_AIMS) -> Case:
    """The case of a number; one that aims at something is drawn until it hits, a few times."""
    wanted = aims.of_case(seed, number // SHARED, number)
    case = _drawn(random.Random(f"{seed} case {number}"), seed, number, pipeline, wanted, aims)
    for attempt in range(_TRIES if wanted and case.drawn == "constructed" else 0):
        if wanted <= constructs_of(case) and _is_legal(pipeline, case):
            return case
        rng = random.Random(f"{seed} case {number} again {attempt}")
        other = _drawn(rng, seed, number, pipeline, wanted, aims)
        if len(wanted & constructs_of(other)) >= len(wanted & constructs_of(case)):
            case = other
    return case


def _is_legal(pipeline: Pipeline, case: Case) -> bool:
    return verify(pipeline, case.schedule, device(case.target)).legal


def _drawn(
    rng: random.Random,
    seed: int,
    number: int,
    pipeline: Pipeline,
    wanted: frozenset[str],
    aims: Aims,
) -> Case:
    gpu = _is_for_gpu(rng, wanted)
    drawn = rng.choices(CLASSES, _AIMED_SHARES if aims else _SHARES)[0]
    if drawn == "wild":
        schedule = wild_schedule(rng, pipeline, gpu)
    else:
        schedule = (gpu_schedule if gpu else cpu_schedule)(rng, pipeline, wanted)
        schedule = with_constructs(rng, pipeline, schedule, wanted)
        schedule = mutated(rng, pipeline, schedule) if drawn == "near" else schedule
    return Case(seed, number, drawn, rng.choice(_DEVICES) if gpu else "cpu", schedule)


@frozen
class Seed:
    """A case to draw others from: its number, and what it aimed at."""

    number: int
    aims: Aims = NO_AIMS


def draw_near(seed: int, number: int, pipeline: Pipeline, origin: Seed, aims: Aims) -> Case:
    """A case with the schedule of another one, edited."""
    rng = random.Random(f"{seed} case {number}")
    found = draw(seed, origin.number, pipeline, origin.aims)
    schedule = found.schedule
    if rng.random() < 0.5:
        wanted = aims.of_case(seed, number // SHARED, number)
        schedule = with_constructs(rng, pipeline, schedule, wanted)
    if schedule == found.schedule or rng.random() < 0.6:
        schedule = mutated(rng, pipeline, schedule)
    return Case(seed, number, CORPUS, found.target, schedule)


def _is_for_gpu(rng: random.Random, wanted: frozenset[str]) -> bool:
    drawn = rng.random() < _GPU_SHARE
    if "device: cpu" in wanted:
        return False
    if wanted & _OF_GPUS:
        return True
    return drawn and not wanted & _OF_CPUS


def constructs_of(case: Case) -> frozenset[str]:
    """What a case is made of, seen from its schedule and its device."""
    on = "cpu" if case.target == "cpu" else "gpu"
    return schedule_constructs(case.schedule) | {f"device: {on}"}


@define
class Fuzzer:
    """Checks cases in order; subjects are kept as long as cases share them.

    Of legal cases for a CPU those whose number ``compiled_every`` divides are compiled and run; the
    others are lowered only, and their loop nest is run value by value, as that of every case is.
    Those whose number ``proven_every`` divides are proven; others are for callers that prove on
    their own. ``seconds`` adds up processor time by what it is spent on. ``aims`` are what cases
    are drawn towards, ``corpus`` what some are drawn from; ``branches`` are those that are known.
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
        self.timed("shadow", _run_shadow, oracle, verdict)
        proofs = Counter[str]()
        if case.number % self.proven_every == 0:
            proofs = self.timed("prove", _proven, verdict)
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
        runs = self.timed("interpret", _interpret, oracle, verdict, made)
        if is_called(case, oracle.subject):
            interpreted = _placed(partial(made.run, executor=Interpreter(made)), oracle)
            small = _accepted(oracle, verdict)
            sizes = () if small is None else (small,)
            called = self.timed("call", _run, oracle, verdict, interpreted, sizes)
            runs["called"] = called["ran"]
        if case.number % EMULATED_EVERY == 0:
            guarded = SanitizedEmulator("address,undefined", "shuffled", seed=case.number)
            emulator = _placed(partial(made.run, executor=guarded), oracle)
            emulated = self.timed("emulate", _run, oracle, verdict, emulator)
            runs["emulated"] = emulated["ran"]
        if case.number % HARDENED_EVERY == 0:
            hardened = compile_gpu(verdict, access_mode=HARDENED)
            emulator = _placed(hardened.run, oracle)
            emulated = self.timed("emulate", _run, oracle, verdict, emulator)
            runs["hardened emulated"] = emulated["ran"]
        return runs

    def _compiled(self, case: Case, oracle: Oracle, verdict: CheckedSchedule) -> Counter[str]:
        """Hardened code, as it is written; in a share of cases also the code that users get, with
        what it is given under guard, or, every other time, its scratch.
        """
        hardened = partial(compile_cpu, access_mode=HARDENED)
        with quick_code():
            compiled = self.timed("compile", hardened, verdict)
            run = _placed(compiled.run, oracle)
            runs = self.timed("run", _run, oracle, verdict, run)
        if not is_optimised(case):
            return runs
        if case.number % 2:
            guarded = self.timed("optimise", compile_guarded, verdict)
            plain = partial(run_poisoned, guarded)
        else:
            compiled = self.timed("optimise", compile_cpu, verdict)
            plain = _placed(compiled.run, oracle)
        optimised = self.timed("run", _run, oracle, verdict, plain)
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


def _run_shadow(oracle: Oracle, verdict: CheckedSchedule) -> None:
    """The loop nest at the first size that is accepted."""
    size = _accepted(oracle, verdict)
    if size is None:
        return
    try:
        values = _whole_values(oracle, size)
        limits = tolerances(verdict, oracle.subject, size)
        oracle.run_shadow(Shadow(verdict.at(values).nest), size, limits)
    except Trouble as trouble:
        raise Mismatch(f"legal, but at size {size}: {trouble}") from trouble
    except TooLong:
        return


def _interpret(oracle: Oracle, verdict: CheckedSchedule, made: GpuPipeline) -> Counter[str]:
    """The kernels at the first size that is accepted."""
    size = _accepted(oracle, verdict)
    if size is None:
        return Counter(refused=1)
    try:
        limits = tolerances(verdict, oracle.subject, size)
        oracle.run_gpu(GpuMachine(made.at(oracle.device_values(size))), size, limits)
    except Trouble as trouble:
        raise Mismatch(f"legal, but its kernels at size {size}: {trouble}") from trouble
    except TooLong:
        return Counter()
    return Counter(interpreted=1)


def is_called(case: Case, subject: Subject) -> bool:
    """Whether the host program of a GPU case runs on real arrays: it has parts that the host
    computes beside kernels, and in a share of the others some array is not dense.
    """
    beside = any(c.startswith("host: ") for c in schedule_constructs(case.schedule))
    is_dense = set(subject.layouts.values()) <= {DENSE}
    return beside or (case.number % CALLED_EVERY == 0 and not is_dense)


def _placed(run: Callable[..., Outputs], oracle: Oracle) -> Callable[..., Outputs]:
    """``run`` into arrays of the subject's layouts."""
    return partial(run_placed, run, oracle.subject.pipeline, oracle.subject.layouts)


def _proven(verdict: CheckedSchedule) -> Counter[str]:
    """How many obligations of a legal schedule were proven, and how many are unknown.

    Raises:
        Mismatch: one is refuted.
    """
    report = prove(verdict, timeout_ms=OBLIGATION_MS, seconds=PROOF_SECONDS)
    for proof in report.refuted:
        raise Mismatch(f"{REFUTED}: {proof.obligation.statement} {proof.outcome}")
    found = Counter({PROVEN: len(report.proven), UNKNOWN: len(report.unknown)})
    return found + Counter({CASES_PROVEN: int(not report.unknown)})


def _run(
    oracle: Oracle,
    verdict: CheckedSchedule,
    run: Callable[..., Outputs],
    sizes: Sequence[int] | None = None,
) -> Counter[str]:
    """Compiled code at all sizes, or at some: it computes the reference, or refuses a size that the
    verdict's size conditions do not allow.
    """
    runs: Counter[str] = Counter()
    subject = oracle.subject
    for size in _sizes(subject) if sizes is None else sizes:
        if not _is_storable(oracle, verdict, size):
            runs["too large"] += 1
            continue
        try:
            outputs = run(subject.images, sizes=subject.sizes(size))
        except SizeError as error:
            if _size_conditions_hold(oracle, verdict, size):
                raise Mismatch(f"size {size} is refused, but legal: {error}") from error
            runs["refused"] += 1
            continue
        except TooLong:
            continue
        except (Rubbish, Trouble) as found:
            raise Mismatch(f"size {size}: {found}") from found
        allowed = tolerances(verdict, subject, size)
        for name, wanted in oracle.expected(size).items():
            if not is_close(outputs[name], wanted, allowed[name]):
                raise Mismatch(_difference(name, size, outputs[name], wanted))
        runs["ran"] += 1
    return runs


def _sizes(subject: Subject) -> tuple[int, ...]:
    """The sizes that differ."""
    every = (EXACT, ODD, LARGE)
    return tuple(i for i in every if subject.outputs[i] not in subject.outputs[:i])


def _accepted(oracle: Oracle, verdict: CheckedSchedule) -> int | None:
    """The first small size that meets the verdict's size conditions."""
    small = (s for s in (EXACT, ODD) if _is_storable(oracle, verdict, s))
    return next((s for s in small if _size_conditions_hold(oracle, verdict, s)), None)


def _is_storable(oracle: Oracle, verdict: CheckedSchedule, size: int) -> bool:
    """Whether its arrays fit memory: an update that writes at 0 of what begins at 2^28 needs all
    between.
    """
    nest = verdict.at(_whole_values(oracle, size)).nest
    return stored_elements(nest, _whole_values(oracle, size)) <= MOST_STORED


def _whole_values(oracle: Oracle, size: int) -> dict[str, int]:
    return {n: v for n, v in oracle.values(size).items() if isinstance(v, int)}


def _size_conditions_hold(oracle: Oracle, verdict: CheckedSchedule, size: int) -> bool:
    values = _whole_values(oracle, size)
    return all(number(r.condition, values) for r in verdict.size_conditions)


def _difference(name: str, size: int, found: NDArray[Any], wanted: NDArray[Any]) -> str:
    places = np.argwhere((found != wanted) & ((found == found) | (wanted == wanted)))
    first = tuple(int(i) for i in places[0])
    return (
        f"{name} at size {size} differs in {len(places)} of {wanted.size} values, first at "
        f"[{', '.join(map(str, first))}]: {found[first]}, not {wanted[first]}"
    )


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
