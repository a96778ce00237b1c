"""An example of a rule: a schedule that breaks the rule, and a legal neighbor."""

from __future__ import annotations

from attrs import evolve, frozen

from spaces.constraints.devices.device import Device, device
from spaces.constraints.legality.verdict import CheckedSchedule, Verdict
from spaces.constraints.legality.verify import verify
from spaces.constraints.rules.findings import Finding
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.directives.directives import Directives
from spaces.model.schedules.schedule import Schedule
from spaces.model.writing.text import format_schedule

CPU, SM75, SM80 = device("cpu"), device("sm_75"), device("sm_80")


_DEFAULT = "// the default schedule: no directives"


@frozen
class ExampleSubject:
    """The arguments of ``verify``.

    Attributes:
        pipeline: the algorithm.
        schedule: the schedule to judge.
        device: where the pipeline shall run.
        exact: whether the results must equal those of the algorithm bit for bit.
        python: an expression for the schedule, if no directives in text give it.
    """

    pipeline: Pipeline
    schedule: Schedule
    device: Device
    exact: bool = False
    python: str = ""

    @property
    def verdict(self) -> Verdict:
        """The answer of ``verify``."""
        return verify(self.pipeline, self.schedule, self.device, exact=self.exact)

    @property
    def findings(self) -> tuple[Finding, ...]:
        """The violations of an illegal schedule, the advice on a legal one."""
        verdict = self.verdict
        return verdict.advice if isinstance(verdict, CheckedSchedule) else verdict.violations

    @property
    def text(self) -> str:
        """The schedule as a user writes it: directives in text, or else ``python``."""
        if self.python:
            return self.python
        return format_schedule(self.schedule, self.pipeline) or _DEFAULT


@frozen
class Example:
    """``broken`` breaks rule ``rule`` and no other; ``legal`` differs from it by a small step.

    If a rule has several examples, ``case`` distinguishes them.
    """

    rule: str
    broken: ExampleSubject
    legal: ExampleSubject
    case: str = ""

    @property
    def name(self) -> str:
        """The rule, and the case if there is one."""
        return f"{self.rule}, {self.case}" if self.case else self.rule


def cpu(directives: Directives) -> ExampleSubject:
    """The schedule of ``directives``, for the CPU."""
    return ExampleSubject(directives.pipeline, directives.schedule, CPU)


def gpu(directives: Directives, on: Device = SM80) -> ExampleSubject:
    """The schedule of ``directives``, for a GPU."""
    return ExampleSubject(directives.pipeline, directives.schedule, on)


def on_cpu(rule: str, broken: Directives, legal: Directives, case: str = "") -> Example:
    """An example for the CPU."""
    return Example(rule, cpu(broken), cpu(legal), case)


def on_gpu(rule: str, broken: Directives, legal: Directives, case: str = "") -> Example:
    """An example for a GPU."""
    return Example(rule, gpu(broken), gpu(legal), case)


def exact_on_cpu(rule: str, broken: Directives, legal: Directives, case: str = "") -> Example:
    """An example for the CPU whose results must equal those of the algorithm bit for bit."""
    first, last = (evolve(cpu(d), exact=True) for d in (broken, legal))
    return Example(rule, first, last, case)
