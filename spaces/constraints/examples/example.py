"""What an example of a rule is: a schedule that breaks it, and its neighbor that does not."""

from __future__ import annotations

from attrs import frozen

from spaces.constraints.devices.device import Device, device
from spaces.constraints.legality.verdict import Verdict
from spaces.constraints.legality.verify import verify
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.directives.directives import Directives
from spaces.model.schedules.schedule import Schedule

CPU, SM75, SM80 = device("cpu"), device("sm_75"), device("sm_80")


@frozen
class ExampleSubject:
    """What is judged; ``exact`` as ``verify`` takes it."""

    pipeline: Pipeline
    schedule: Schedule
    device: Device
    exact: bool = False

    @property
    def verdict(self) -> Verdict:
        """What ``verify`` says of it."""
        return verify(self.pipeline, self.schedule, self.device, exact=self.exact)


@frozen
class Example:
    """``broken`` breaks rule ``rule`` and no other; ``legal`` is a small step away.

    Where a rule has several examples, ``case`` tells them apart.
    """

    rule: str
    broken: ExampleSubject
    legal: ExampleSubject
    case: str = ""

    @property
    def name(self) -> str:
        """The rule, and the case where there are several."""
        return f"{self.rule}, {self.case}" if self.case else self.rule


def cpu(directives: Directives) -> ExampleSubject:
    """The schedule that directives make, judged for the CPU."""
    return ExampleSubject(directives.pipeline, directives.schedule, CPU)


def gpu(directives: Directives, on: Device = SM80) -> ExampleSubject:
    """The schedule that directives make, judged for a GPU."""
    return ExampleSubject(directives.pipeline, directives.schedule, on)


def on_cpu(rule: str, broken: Directives, legal: Directives, case: str = "") -> Example:
    """An example for the CPU."""
    return Example(rule, cpu(broken), cpu(legal), case)


def on_gpu(rule: str, broken: Directives, legal: Directives, case: str = "") -> Example:
    """An example for a GPU."""
    return Example(rule, gpu(broken), gpu(legal), case)


def exact_on_cpu(rule: str, broken: Directives, legal: Directives, case: str = "") -> Example:
    """The results must be those of the algorithm bit for bit."""
    first, last = (ExampleSubject(d.pipeline, d.schedule, CPU, exact=True) for d in (broken, legal))
    return Example(rule, first, last, case)
