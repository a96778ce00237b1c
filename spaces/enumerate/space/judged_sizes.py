"""The judge of a space, at the estimates and at all further sizes."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property

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
from spaces.enumerate.space.further_sizes import FurtherSize, shown_size
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.nest.nest_memo import NestMemo
from spaces.model.schedules.schedule import Schedule


@frozen
class JudgedSizes:
    """The judge of a space: a schedule is legal if it is legal at the estimates of the pipeline and
    at each further size. With ``exact`` it must be exact, too.
    """

    pipeline: Pipeline
    sizes: tuple[FurtherSize, ...]
    device: Device
    exact: bool = False

    @property
    def _at_sizes(self) -> Iterator[Pipeline]:
        """The pipeline at each further size."""
        return (evolve(self.pipeline, estimates=size) for size in self.sizes)

    @cached_property
    def _memos(self) -> tuple[NestMemo, ...]:
        """What earlier masks have found, for each further size."""
        return tuple(NestMemo() for _ in self.sizes)

    def faults(self) -> Iterator[Violation]:
        """What makes every schedule illegal, at any of the sizes."""
        yield from pipeline_faults(self.pipeline, self.device)
        for size, pipeline in zip(self.sizes, self._at_sizes, strict=True):
            found = pipeline_faults(pipeline, self.device)
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
        judged = (
            judged_conditions(pipeline, structure, self.device, exact=self.exact, memo=known)
            for pipeline, known in self._remembering(memo)
        )
        return legal_count(itertools.chain.from_iterable(judged), menus)

    def is_legal(self, schedule: Schedule, memo: NestMemo) -> bool:
        """Whether a schedule is legal at all sizes. It suits many similar schedules: unlike a
        verdict, the answer does not keep what they have in common in memory.
        """
        return all(
            verify(pipeline, schedule, self.device, exact=self.exact, memo=known)
            for pipeline, known in self._remembering(memo)
        )

    def _remembering(self, memo: NestMemo) -> Iterator[tuple[Pipeline, NestMemo]]:
        """The pipeline at each size, the estimates first, with what earlier calls have found."""
        return zip((self.pipeline, *self._at_sizes), (memo, *self._memos), strict=True)

    def verdict(self, schedule: Schedule) -> Verdict:
        """The verdict at the estimates if the schedule is legal at all sizes; else the violations
        at the estimates, and those which only a further size has.
        """
        verdict = verify(self.pipeline, schedule, self.device, exact=self.exact)
        found = {_place(one): one for one in verdict.violations}
        for size, at_size in zip(self.sizes, self._at_sizes, strict=True):
            for one in verify(at_size, schedule, self.device, exact=self.exact).violations:
                found.setdefault(_place(one), _stated_at(size, one))
        return Illegal(tuple(found.values())) if found else verdict


def _place(found: Violation) -> tuple[str, str, int, str]:
    return found.rule, found.func, found.stage, found.loop


def _stated_at(size: FurtherSize, found: Violation) -> Violation:
    return evolve(found, message=f"{found.message} (At the further size {shown_size(size)}.)")
