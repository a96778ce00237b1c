"""``spaces.report``: a page about a schedule that a colleague can open."""

from __future__ import annotations

from typing import Any

import attrs
from attrs import frozen

from spaces.backend.compile import compile_cpu
from spaces.backend.compile_gpu import compile_gpu
from spaces.backend.profiling.profile import Profile
from spaces.constraints.devices.device import CpuDevice
from spaces.constraints.legality.verdict import CheckedSchedule, Illegal, Verdict
from spaces.constraints.obligations.records import ProofReport
from spaces.constraints.repairs.repair import repair
from spaces.model.articles import shown_kind
from spaces.pages.counted_kernels import count_kernels
from spaces.pages.generated import cpu_code, gpu_code
from spaces.pages.json_values import json_value
from spaces.pages.schedule_page import ShownSchedule, schedule_page
from spaces.pages.small_run import small_run
from spaces.pages.written_page import WrittenPage


@frozen(repr=False)
class Report(WrittenPage):
    """A page about a schedule, or about two.

    Attributes:
        html: the text of the page: one file that needs nothing from elsewhere.
        sides: the schedules, with the numbers that the page shows.
    """

    sides: tuple[ShownSchedule, ...]

    def json(self) -> list[dict[str, Any]]:
        """The numbers of each schedule as JSON's types."""
        return [_as_json(side) for side in self.sides]

    def __repr__(self) -> str:
        names = " and ".join(side.name for side in self.sides)
        return f"<Report on {names}: {self._size}>"


def report(
    verdict: Verdict,
    against: Verdict | None = None,
    *,
    names: tuple[str, str] = ("first", "second"),
    profiles: tuple[Profile | None, Profile | None] = (None, None),
    proofs: ProofReport | None = None,
    seconds: float = 2.0,
) -> Report:
    """A page about a schedule: its Funcs and loops, its storage and costs, the rules that it meets,
    a small run step by step, and the generated code. Of a schedule for a GPU its kernels, too, with
    their registers where NVIDIA's compiler is present. Of an illegal schedule, its violations at
    their places and the nearest legal schedule.

    Args:
        verdict: what :func:`verify` returns, legal or not.
        against: the same for another schedule of the pipeline, to show both side by side.
        names: what the page calls the two.
        profiles: what :func:`profile` returns for each; prices and times then stand side by side.
        proofs: what :func:`prove` returns about the first.
        seconds: how long to search for the nearest legal schedule to an illegal one.

    Raises:
        TypeError: something else is given than verdicts.
        ValueError: the two are of different pipelines, or ``verify`` did not make a verdict.

    >>> report(verify(pipeline, schedule, device("cpu"))).write("report.html")
    """
    given = [verdict] if against is None else [verdict, against]
    for one in given:
        if not isinstance(one, CheckedSchedule | Illegal):
            raise TypeError(f"report takes what verify returns, not {shown_kind(one)}.")
    sides = tuple(
        _side(one, name if len(given) > 1 else names[0], profile, seconds)
        for one, name, profile in zip(given, names, profiles, strict=False)
    )
    if proofs is not None:
        sides = (attrs.evolve(sides[0], proofs=proofs), *sides[1:])
    of = [side.judged.pipeline.name for side in sides]
    if len(set(of)) > 1:
        raise ValueError(f"report compares schedules of one pipeline, not of {of[0]} and {of[1]}.")
    return Report(schedule_page(sides), sides)


def _side(verdict: Verdict, name: str, profile: Profile | None, seconds: float) -> ShownSchedule:
    if isinstance(verdict, CheckedSchedule):
        run = small_run(verdict)
        if isinstance(verdict.device, CpuDevice):
            codes = cpu_code(compile_cpu(verdict))
            return ShownSchedule(name, verdict, profile, run=run, codes=codes)
        compiled = compile_gpu(verdict)
        codes, counted = gpu_code(compiled), count_kernels(compiled)
        return ShownSchedule(name, verdict, profile, run=run, codes=codes, counted=counted)
    side = ShownSchedule(name, verdict)
    judged = side.judged
    mended = repair(judged.pipeline, judged.schedule, judged.device, seconds=seconds)
    return attrs.evolve(side, repair=mended)


def _as_json(side: ShownSchedule) -> dict[str, Any]:
    found: dict[str, Any] = {"name": side.name, "device": side.judged.device.name}
    found |= side.verdict.json()
    if side.facts is not None:
        found["funcs"] = [json_value(attrs.asdict(fact)) for fact in side.facts.funcs]
        found["kernels"] = [json_value(attrs.asdict(one)) for one in side.facts.kernels]
        if side.counted is not None:
            counted = side.counted.kernels.items()
            found["registers"] = {name: json_value(attrs.asdict(one)) for name, one in counted}
        price = side.facts.price
        found["price"] = None if price is None else {"model": price.model, "cost": price.cost}
    if side.profile is not None:
        found["profile"] = json_value(attrs.asdict(side.profile))
    return found
