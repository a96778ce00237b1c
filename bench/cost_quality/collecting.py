"""Measures the schedules of several subjects in turns, and writes each batch to its file."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

from attrs import frozen

from bench.cost_quality import devices
from bench.cost_quality.brief import ROUNDS, SharedTime, brief_program
from bench.cost_quality.drawing import Drawing
from bench.cost_quality.records import Record, append, records
from bench.cost_quality.subjects import Subject
from bench.machine import processor
from spaces.backend.measuring.local import LocalMeasurer
from spaces.backend.measuring.session import MeasuringError
from spaces.backend.measuring.task import MeasuringLimits
from spaces.constraints.devices.device import host_cpu
from spaces.cost.measurer import Measurement, Measurer
from spaces.enumerate.space.empty_space import EmptySpaceError
from spaces.model.schedules.schedule import Schedule
from spaces.model.writing.text import format_schedule

BATCH = 8
"""How many schedules are timed in the same rounds."""

LIMITS = MeasuringLimits(compile_seconds=30.0, run_seconds=6.0, rounds=ROUNDS, seconds=6.0)
"""What a schedule may take: one that runs longer is hung."""

ATTEMPTS = 3
"""After this many times the wanted number, no further schedule is drawn: a small space may have too
few.
"""


def measurer_of(subject: Subject) -> LocalMeasurer:
    """What measures the schedules of a subject on this machine, in processes of its own."""
    return LocalMeasurer(
        reference=subject.reference,
        inputs=subject.inputs,
        limits=LIMITS,
        race=SharedTime(),
        make=brief_program,
    )


def measure_all(subject: Subject, schedules: Sequence[Schedule]) -> list[Measurement]:
    """Measures schedules of a subject, some together at a time.

    Raises:
        MeasuringError: the reference does not run.
    """
    found: list[Measurement] = []
    with measurer_of(subject) as measurer:
        for begin in range(0, len(schedules), BATCH):
            batch = schedules[begin : begin + BATCH]
            found += measurer.measure(subject.pipeline, batch)
    return found


@frozen
class Collecting:
    """The schedules of one subject that are measured.

    Attributes:
        subject: the pipeline.
        drawing: draws its schedules.
        measurer: measures them.
        path: the file of its records.
        wanted: how many schedules are measured, counting those in the file.
        cpu: the name of the processor.
    """

    subject: Subject
    drawing: Drawing
    measurer: Measurer
    path: Path
    wanted: int
    cpu: str

    def batches(self) -> Iterator[int]:
        """Measures batch by batch, and yields the number of records after each. Schedules that are
        in the file already, under their own or another number, are not measured again.

        Raises:
            OtherProcessorError: those in the file ran on another processor.
        """
        earlier = [one for one in records(self.path) if one.subject == self.subject.name]
        for cpu in dict.fromkeys(one.cpu for one in earlier if one.cpu != self.cpu):
            raise devices.OtherProcessorError(
                f"{self.path.name} has schedules of {self.subject.name} that were measured on "
                f"{cpu}, and this is {self.cpu}: their times do not compare. Remove them to "
                "measure here."
            )
        numbers = {one.number for one in earlier}
        texts = {one.schedule for one in earlier}
        batch: dict[int, tuple[str, Schedule]] = {}
        for number in (*self.drawing.numbers_of_good, *range(ATTEMPTS * self.wanted)):
            if len(texts) >= self.wanted and number >= 0:
                break
            if number in numbers:
                continue
            schedule = self.drawing.schedule(number)
            text = format_schedule(schedule, self.subject.pipeline)
            if text not in texts:
                texts.add(text)
                batch[number] = text, schedule
            if len(batch) == BATCH:
                self._measure(batch)
                batch = {}
                yield len(texts)
        if batch:
            self._measure(batch)
            yield len(texts)

    def _measure(self, batch: dict[int, tuple[str, Schedule]]) -> None:
        schedules = [schedule for _, schedule in batch.values()]
        found = self.measurer.measure(self.subject.pipeline, schedules)
        made = [
            Record.of(self.subject.name, number, Drawing.origin(number), text, one, self.cpu)
            for (number, (text, _)), one in zip(batch.items(), found, strict=True)
        ]
        append(self.path, made)


def collect(
    names: Iterable[str],
    subject_of: Callable[[str], Subject],
    path: Callable[[str], Path],
    wanted: int,
    together: int,
) -> None:
    """Measures until each subject has its records: a batch of one after the other, so that
    subjects have about as many when the run is stopped. A subject that no search finds a schedule
    of, or whose reference does not run, is left out.

    Args:
        names: of the subjects; records have them.
        subject_of: makes the subject of a name when its turn comes first.
        path: the file of a subject's records.
        wanted: the number of records of each.
        together: how many subjects take turns; each holds processes and their memory until it is
            done, then the next one takes its place.

    Raises:
        OtherProcessorError: earlier records, or the description of a processor of this name, are
            those of another one.
    """
    cpu = processor()
    devices.describe(cpu, host_cpu(), devices.FILE)
    waiting = [name for name in names if _count(path(name), name) < wanted]
    with ExitStack() as stack:
        turns: dict[str, tuple[Iterator[int], LocalMeasurer]] = {}
        while turns or waiting:
            while waiting and len(turns) < together:
                name = waiting.pop(0)
                try:
                    subject = subject_of(name)
                except EmptySpaceError as error:
                    print(f"  {name} is left out: {error}", flush=True)
                    continue
                measurer = stack.enter_context(measurer_of(subject))
                drawing = Drawing(subject.space, subject.good, subject.beyond)
                one = Collecting(subject, drawing, measurer, path(name), wanted, cpu)
                turns[name] = one.batches(), measurer
            for name, (batches, measurer) in list(turns.items()):
                try:
                    count = next(batches, None)
                except MeasuringError as error:
                    print(f"  {name} is left out: {error}", flush=True)
                    count = None
                if count is None:
                    measurer.close()
                    del turns[name]
                else:
                    print(f"  {name}: {count} of {wanted}", flush=True)


def _count(path: Path, name: str) -> int:
    return sum(one.subject == name for one in records(path))
