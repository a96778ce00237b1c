"""The sizes at which every schedule of a space is legal."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from attrs import evolve, frozen
from numpy.typing import NDArray

from spaces.constraints.devices.device import Device
from spaces.constraints.legality.judge import pipeline_faults
from spaces.constraints.legality.lattice import judged_conditions, legal_mask
from spaces.constraints.legality.legal_count import legal_count
from spaces.constraints.legality.verdict import Illegal, Verdict
from spaces.constraints.legality.verify import verify
from spaces.constraints.rules.findings import Violation
from spaces.model.algorithm.estimates import estimate_problems
from spaces.model.algorithm.freeze import estimated_ranges
from spaces.model.algorithm.func import Func
from spaces.model.algorithm.image_param import ImageParam
from spaces.model.algorithm.pipeline import Estimate, Pipeline
from spaces.model.amounts import amount
from spaces.model.expressions.definition_error import DefinitionError
from spaces.model.nest.nest_memo import NestMemo
from spaces.model.schedules.schedule import Schedule
from spaces.model.suggestions import some_of, suggestion

FurtherSize: TypeAlias = tuple[Estimate, ...]
"""Estimates that take the place of those of the pipeline."""


def as_sizes(given: object) -> tuple[FurtherSize, ...]:
    """The sizes of a list of mappings, as ``pipeline(..., estimates=...)`` takes one.

    Raises:
        TypeError: it is not a list of mappings.
        ValueError: ranges are no whole numbers; the message has all mistakes.
    """
    listed = None if isinstance(given, str | Mapping) else given
    if isinstance(listed, Iterable):
        sizes = tuple(listed)
        if all(isinstance(one, tuple) and _are_estimates(one) for one in sizes):
            return sizes
        if all(isinstance(one, Mapping) for one in sizes):
            return _frozen_sizes(sizes)
    raise TypeError(
        "sizes takes a list of mappings from outputs and images to extents, such as "
        f"[{{'out': [640, 480]}}], not {given!r}."
    )


def _are_estimates(size: tuple[object, ...]) -> bool:
    return all(isinstance(one, Estimate) for one in size)


def _frozen_sizes(sizes: tuple[Mapping[Any, Any], ...]) -> tuple[FurtherSize, ...]:
    found: list[FurtherSize] = []
    mistakes: list[str] = []
    for size in sizes:
        estimates: list[Estimate] = []
        for key, given in size.items():
            name = key.name if isinstance(key, Func | ImageParam) else str(key)
            try:
                estimates.append(Estimate(name, estimated_ranges(name, given)))
            except DefinitionError as error:
                mistakes.append(str(error))
        found.append(tuple(estimates))
    if mistakes:
        raise ValueError("\n".join(mistakes))
    return tuple(found)


def mistakes_in_estimates(pipeline: Pipeline) -> Iterator[str]:
    """What a space misses of the estimates of a pipeline, as a sentence."""
    unknown = [one for one in pipeline.outputs if pipeline.estimate(one) is None]
    if unknown:
        sizes = ", ".join(
            f"{one}: [{', '.join(f'extent of {v}' for v in pipeline.function(one).args)}]"
            for one in unknown
        )
        yield (
            f"A space needs estimates of the outputs, and pipeline {pipeline.name} has "
            f"none of {', '.join(unknown)}: give pipeline(..., estimates={{{sizes}}})."
        )


def mistakes_in_sizes(pipeline: Pipeline, sizes: tuple[FurtherSize, ...]) -> Iterator[str]:
    """The mistakes in further sizes, each as a sentence."""
    ranks = {name: len(pipeline.function(name).args) for name in pipeline.outputs}
    ranks |= {image.name: image.dimensions for image in pipeline.images}
    for number, size in enumerate(sizes):
        place = f"sizes[{number}]"
        misfit = False
        for estimate in size:
            name, given = estimate.buffer, len(estimate.ranges)
            if name not in ranks:
                misfit = True
                yield (
                    f"{place} names {name!r}, and pipeline {pipeline.name} has no such output or "
                    f"image{suggestion(name, list(ranks))}; it has {some_of(list(ranks))}."
                )
            elif given != ranks[name]:
                misfit = True
                yield (
                    f"{place} gives {amount(given, 'extent')} of {name}, which has "
                    f"{amount(ranks[name], 'dimension')}."
                )
        named = {estimate.buffer for estimate in size}
        for name in pipeline.outputs:
            if name not in named:
                misfit = True
                yield f"{place} gives no size of output {name}; name every output."
        if not misfit:
            for problem in estimate_problems(evolve(pipeline, estimates=size)):
                yield f"{place}: {problem}"


@frozen
class JudgedSizes:
    """The judge of a space: a schedule is legal if it is legal at the estimates of the pipeline and
    at each further size. With ``exact`` it must be exact, too.
    """

    pipeline: Pipeline
    sizes: tuple[FurtherSize, ...]
    device: Device
    exact: bool = False

    @cached_property
    def _memos(self) -> tuple[NestMemo, ...]:
        """What earlier masks have found, for each further size."""
        return tuple(NestMemo() for _ in self.sizes)

    def faults(self) -> Iterator[Violation]:
        """What makes every schedule illegal, at any of the sizes."""
        yield from pipeline_faults(self.pipeline, self.device)
        for size in self.sizes:
            found = pipeline_faults(evolve(self.pipeline, estimates=size), self.device)
            yield from (_stated_at(size, one) for one in found)

    def mask(
        self,
        part: Pipeline,
        structure: Schedule,
        columns: Mapping[str, NDArray[np.int64]],
        memo: NestMemo,
    ) -> NDArray[np.bool_]:
        """Which choices of a structure are legal at all sizes.

        Args:
            part: the pipeline, or the part of it that the structure decides.
            structure: a schedule with names as some of its factors.
            columns: the numbers of each name.
            memo: what earlier calls have found at the estimates.
        """
        mask = legal_mask(part, structure, self.device, columns, exact=self.exact, memo=memo)
        for size, known in zip(self.sizes, self._memos, strict=True):
            if not mask.any():
                break
            at_size = evolve(part, estimates=size)
            mask = mask & legal_mask(
                at_size, structure, self.device, columns, exact=self.exact, memo=known
            )
        return mask

    def count(
        self, structure: Schedule, menus: Mapping[str, Sequence[int]], memo: NestMemo
    ) -> int | None:
        """The number of choices of a structure that are legal at all sizes, one from each menu;
        None if too many of them depend on each other.
        """
        memos = (memo, *self._memos)
        sized = (evolve(self.pipeline, estimates=size) for size in self.sizes)
        judged = (
            judged_conditions(pipeline, structure, self.device, exact=self.exact, memo=known)
            for pipeline, known in zip((self.pipeline, *sized), memos, strict=True)
        )
        return legal_count(itertools.chain.from_iterable(judged), menus)

    def is_legal(self, schedule: Schedule, memo: NestMemo) -> bool:
        """Whether a schedule is legal at all sizes, for many similar ones: unlike a verdict, the
        answer does not keep what they have in common alive.
        """
        sized = (evolve(self.pipeline, estimates=size) for size in self.sizes)
        judged = zip((self.pipeline, *sized), (memo, *self._memos), strict=True)
        return all(
            verify(pipeline, schedule, self.device, exact=self.exact, memo=known)
            for pipeline, known in judged
        )

    def verdict(self, schedule: Schedule) -> Verdict:
        """The verdict at the estimates if the schedule is legal at all sizes; else the violations
        at the estimates, and those which only a further size has.
        """
        verdict = verify(self.pipeline, schedule, self.device, exact=self.exact)
        found = {_place(one): one for one in verdict.violations}
        for size in self.sizes:
            at_size = evolve(self.pipeline, estimates=size)
            for one in verify(at_size, schedule, self.device, exact=self.exact).violations:
                found.setdefault(_place(one), _stated_at(size, one))
        return Illegal(tuple(found.values())) if found else verdict


def shown_size(size: FurtherSize) -> str:
    """A size as text: ``out = 640 x 480``; mins that are not 0 stand before the extent."""
    return ", ".join(
        f"{one.buffer} = "
        + " x ".join(f"{extent} from {low}" if low else str(extent) for low, extent in one.ranges)
        for one in size
    )


def _place(found: Violation) -> tuple[str, str, int, str]:
    return found.rule, found.func, found.stage, found.loop


def _stated_at(size: FurtherSize, found: Violation) -> Violation:
    return evolve(found, message=f"{found.message} (At the further size {shown_size(size)}.)")
