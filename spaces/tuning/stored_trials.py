"""Trials in a store: proposals, their results, and the runs of each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import Any

from attrs import define

from spaces.cost.measurer import Measurement
from spaces.model.algorithm.pipeline import Pipeline
from spaces.tuning.leases import LeasedStudies
from spaces.tuning.rows import (
    DamagedRowError,
    intact,
    plausible,
    read_metrics,
    read_trial,
    write_metrics,
)
from spaces.tuning.schema import SUMMARISED, StoreError, summarise
from spaces.tuning.trial import Proposal, Trial

PAGE = 16
"""How many of the fastest trials are looked for at a time."""

ROWS = 256
"""How many trials are read at a time, where all are read."""

_TRIALS = (
    "SELECT number, document, text, source, predicted, outcome, reason, compile_seconds, "
    "attempts, others, metrics "
    "FROM trials JOIN studies ON studies.id = study LEFT JOIN schedules "
    "ON schedules.digest = schedule AND schedules.pipeline = studies.pipeline "
    "WHERE study = ?"
)


@define
class StoredTrials(LeasedStudies):
    """The studies of an open file with their trials."""

    def propose(self, study: int, pipeline: Pipeline, proposals: Sequence[Proposal]) -> list[Trial]:
        """Adds trials, all or none, and returns them; leaves out schedules that the study has."""
        added: list[Trial] = []
        with self._file.writing():
            self._keep_out(study)
            (first,) = self._file.some(
                "SELECT coalesce(max(number) + 1, 0) FROM trials WHERE study = ?", study
            )
            for proposal in proposals:
                schedule = self._keep_schedule(pipeline, proposal.schedule)
                number = first + len(added)
                made = self._file.do(
                    "INSERT OR IGNORE INTO trials (study, number, schedule, source, predicted) "
                    "VALUES (?, ?, ?, ?, ?)",
                    study,
                    number,
                    schedule,
                    proposal.source,
                    proposal.predicted,
                )
                if made.rowcount:
                    added.append(Trial(number, proposal))
        return added

    def tell(self, study: int, number: int, result: Measurement) -> Measurement:
        """Keeps the result of a trial, and returns what it keeps: a measurement with a time that is
        no time counts as refused (:func:`plausible`).

        Raises:
            StoreError: the study has no such trial, its result is known, another process tunes the
                study now, or the file cannot be written.
        """
        result = plausible(result)
        with self._file.writing():
            self._keep_out(study)
            found = self._file.one(
                "SELECT outcome FROM trials WHERE study = ? AND number = ?", study, number
            )
            if found is None:
                raise StoreError(f"Study {study} of {self.path} has no trial {number}.")
            if found[0] is not None:
                raise StoreError(
                    f"The result of trial {number} of study {study} is known: it is {found[0]}."
                )
            self._file.do(
                "UPDATE trials SET outcome = ?, reason = ?, compile_seconds = ?, attempts = 0, "
                "metrics = ? WHERE study = ? AND number = ?",
                str(result.outcome),
                result.reason,
                result.compile_seconds,
                write_metrics(result.metrics),
                study,
                number,
            )
            self._add_runs(study, number, result)
        return result

    def add_runs(self, study: int, number: int, result: Measurement) -> None:
        """Keeps further runs of a trial whose result is known.

        Raises:
            StoreError: another process tunes the study now, or the file cannot be written.
        """
        if result.is_correct and plausible(result).is_correct:
            with self._file.writing():
                self._keep_out(study)
                self._add_runs(study, number, result)

    def _add_runs(self, study: int, number: int, result: Measurement) -> None:
        """Adds runs to those of a trial, and sums all of them up."""
        before = self._runs(study, number)
        pairs = list(zip(result.seconds, result.reference_seconds, strict=True))
        self._file.connection.executemany(
            "INSERT INTO runs VALUES (?, ?, ?, ?, ?)",
            [(study, number, place, *pair) for place, pair in enumerate(pairs, len(before))],
        )
        self._file.do(
            "UPDATE trials SET others = max(others, ?) WHERE study = ? AND number = ?",
            result.others,
            study,
            number,
        )
        all_pairs = [*before, *pairs]
        summary = summarise([a for a, _ in all_pairs], [b for _, b in all_pairs])
        if summary is not None:
            self._file.do(SUMMARISED, *summary, study, number)

    def replace(self, study: int, number: int, result: Measurement) -> Measurement:
        """Puts a result in the place of an earlier one, whose runs are gone, and returns what it
        keeps.

        Raises:
            StoreError: another process tunes the study now, or the file cannot be written.
        """
        result = plausible(result)
        with self._file.writing():
            self._keep_out(study)
            self._file.do("DELETE FROM runs WHERE study = ? AND trial = ?", study, number)
            self._file.do(
                "UPDATE trials SET outcome = ?, reason = ?, upper = NULL, ratio = NULL, "
                "beside = NULL WHERE study = ? AND number = ?",
                str(result.outcome),
                result.reason,
                study,
                number,
            )
            self._add_runs(study, number, result)
        return result

    def note(self, study: int, number: int, metrics: Iterable[tuple[str, float]]) -> None:
        """Keeps metrics of a trial in the place of those that it has.

        Raises:
            StoreError: another process tunes the study now, or the file cannot be written.
        """
        with self._file.writing():
            self._keep_out(study)
            self._file.do(
                "UPDATE trials SET metrics = ? WHERE study = ? AND number = ?",
                write_metrics(metrics),
                study,
                number,
            )

    def noted(self, study: int) -> Iterator[tuple[int, float, dict[str, float]]]:
        """The number of each trial with times, its ratio, and its metrics; without damaged ones."""
        for number, ratio, text in self._file.rows(
            "SELECT number, ratio, metrics FROM trials WHERE study = ? AND upper IS NOT NULL", study
        ):
            try:
                metrics = intact("its metrics", partial(read_metrics, text))
            except DamagedRowError as error:
                self._tell_damage(f"trial {number} of study {study}", error)
            else:
                yield number, ratio, dict(metrics)

    def begin_trials(self, study: int, numbers: Iterable[int]) -> None:
        """Notes that trials are being measured. If this process ends before it tells their results,
        or calls :meth:`leave_trials`, the next one sees that.
        """
        self._count_attempts(study, numbers, 1)

    def leave_trials(self, study: int, numbers: Iterable[int]) -> None:
        """Notes that trials are measured no more, and that this is not their fault."""
        self._count_attempts(study, numbers, -1)

    def _count_attempts(self, study: int, numbers: Iterable[int], more: int) -> None:
        with self._file.writing():
            self._file.connection.executemany(
                "UPDATE trials SET attempts = attempts + ? "
                "WHERE study = ? AND number = ? AND outcome IS NULL",
                [(more, study, number) for number in numbers],
            )

    def trials(self, study: int) -> list[Trial]:
        """All trials of a study, in order. A damaged row costs its trial, and is logged."""
        return list(self.each_trial(study))

    def each_trial(self, study: int) -> Iterator[Trial]:
        """The same trials, read as they are asked for."""
        first = 0
        while True:
            rows = self._file.rows(
                f"{_TRIALS} AND number >= ? ORDER BY number LIMIT ?", study, first, ROWS
            )
            if not rows:
                return
            last = rows[-1][0]
            runs: dict[int, list[tuple[Any, Any]]] = {}
            for number, *pair in self._file.rows(
                "SELECT trial, seconds, reference_seconds FROM runs "
                "WHERE study = ? AND trial BETWEEN ? AND ? ORDER BY trial, round",
                study,
                first,
                last,
            ):
                runs.setdefault(number, []).append((pair[0], pair[1]))
            yield from self._intact_trials(study, ((row, runs.get(row[0], [])) for row in rows))
            first = last + 1

    def trial(self, study: int, number: int) -> Trial | None:
        """A trial. None if the store has no such trial, or if its row is damaged; then the log
        says so.
        """
        rows = self._file.rows(f"{_TRIALS} AND number = ?", study, number)
        with_runs = ((row, self._runs(study, number)) for row in rows)
        return next(self._intact_trials(study, with_runs), None)

    def count_trials(self, study: int) -> int:
        """How many trials a study has."""
        (count,) = self._file.some("SELECT count(*) FROM trials WHERE study = ?", study)
        return int(count)

    def open_attempts(self, study: int) -> dict[int, int]:
        """The numbers of the trials without a result, each with how often somebody began to measure
        it.
        """
        rows = self._file.rows(
            "SELECT number, attempts FROM trials WHERE study = ? AND outcome IS NULL "
            "ORDER BY number",
            study,
        )
        return dict(rows)

    def outcomes(self, study: int) -> dict[str, int]:
        """How many trials of a study ended in which way, the most frequent outcome first."""
        rows = self._file.rows(
            "SELECT outcome, count(*) FROM trials WHERE study = ? AND outcome IS NOT NULL "
            "GROUP BY outcome ORDER BY count(*) DESC, min(number)",
            study,
        )
        return {str(outcome): count for outcome, count in rows}

    def numbers_of_sources(self, study: int, sources: Sequence[str]) -> list[int]:
        """The numbers of the trials of some sources."""
        rows = self._file.rows(
            f"SELECT number FROM trials WHERE study = ? AND source IN ({_marks(sources)}) "
            "ORDER BY number",
            study,
            *sources,
        )
        return [number for (number,) in rows]

    def sources(self, study: int) -> set[str]:
        """Where the trials of a study come from."""
        rows = self._file.rows("SELECT DISTINCT source FROM trials WHERE study = ?", study)
        return {str(source) for (source,) in rows}

    def cheapest_number(self, study: int, source: str) -> int | None:
        """The number of the trial of a source whose cost by the model is lowest; None if none was
        priced.
        """
        row = self._file.one(
            "SELECT number FROM trials WHERE study = ? AND source = ? AND predicted IS NOT NULL "
            "ORDER BY predicted, number LIMIT 1",
            study,
            source,
        )
        return None if row is None else int(row[0])

    def has_schedule(self, study: int, digest: str) -> bool:
        """Whether a trial of a study has the schedule with this digest."""
        found = self._file.one(
            "SELECT 1 FROM trials WHERE study = ? AND schedule = ?", study, digest
        )
        return found is not None

    def count_ranked(self, study: int) -> int:
        """How many trials of a study have times."""
        (count,) = self._file.some(
            "SELECT count(*) FROM trials WHERE study = ? AND upper IS NOT NULL", study
        )
        return int(count)

    def ranked_numbers(self, study: int, place: int, count: int) -> list[int]:
        """The numbers of that many trials with times from a place on; the fastest is at place 0."""
        rows = self._file.rows(
            "SELECT number FROM trials WHERE study = ? AND upper IS NOT NULL "
            "ORDER BY upper, ratio, number LIMIT ? OFFSET ?",
            study,
            count,
            place,
        )
        return [number for (number,) in rows]

    def fastest(self, study: int) -> Iterator[Trial]:
        """The trials of a study with times, the fastest first; read as they are asked for."""
        place = 0
        while numbers := self.ranked_numbers(study, place, PAGE):
            for number in numbers:
                found = self.trial(study, number)
                if found is not None:
                    yield found
            place += PAGE

    def _runs(self, study: int, number: int) -> list[tuple[Any, Any]]:
        return self._file.rows(
            "SELECT seconds, reference_seconds FROM runs WHERE study = ? AND trial = ? "
            "ORDER BY round",
            study,
            number,
        )

    def _intact_trials(
        self, study: int, rows: Iterable[tuple[Sequence[Any], list[tuple[Any, Any]]]]
    ) -> Iterator[Trial]:
        for row, runs in rows:
            try:
                yield read_trial(row, runs, lambda: self.pipeline_of(study))
            except DamagedRowError as error:
                self._tell_damage(f"trial {row[0]} of study {study}", error)


def _marks(values: Sequence[object]) -> str:
    """A question mark for each value, for a list in SQL."""
    return ", ".join("?" * len(values))
