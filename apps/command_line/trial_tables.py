"""Tables of the trials of a study, with a sentence about their order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from spaces.apps.command_line.console import line, table
from spaces.apps.errors import WrongUsage
from spaces.model.amounts import amount
from spaces.tuning.pareto import OBJECTIVES, pareto_trials
from spaces.tuning.store import TuningStore
from spaces.tuning.trial import Trial


def show_trials(store: TuningStore, study: int, trials: Sequence[Trial]) -> None:
    """Lists some of the fastest trials of a study."""
    _show(trials)
    line(
        f"{len(trials)} of {amount(store.count_ranked(study), 'trial')} with times, the fastest "
        "first: by the upper end of the interval of time / reference, so that a few lucky runs do "
        "not win."
    )


def show_pareto(study: int, trials: Sequence[Trial], objectives: Sequence[str]) -> None:
    """Lists the trials of a study that no other one beats."""
    _show(trials)
    line(
        f"{amount(len(trials), 'trial')} of study {study}, sorted by {objectives[0]}: no other one "
        f"is better in one of {', '.join(objectives)} and at least as good in the others."
    )


def _show(trials: Sequence[Trial]) -> None:
    names = list(dict.fromkeys(name for one in trials for name, _ in _metrics(one)))
    rows = []
    for one in trials:
        result, metrics = one.result, dict(_metrics(one))
        if result is None:
            continue
        low, high = result.interval
        rows.append(
            (
                one.number, one.proposal.source, f"{result.median_seconds * 1e3:.3g}",
                f"{result.ratio:.3f}", f"{low:.3f} to {high:.3f}",
                *(_shown(metrics.get(name)) for name in names),
            )
        )  # fmt: skip
    table(("trial", "source", "ms", "time / reference", "95 % interval", *names), rows)


def _metrics(trial: Trial) -> tuple[tuple[str, float], ...]:
    return () if trial.result is None else trial.result.metrics


def _shown(value: float | None) -> str | int:
    if value is None:
        return ""
    return int(value) if value.is_integer() and abs(value) < 2**53 else f"{value:.4g}"


def described(trial: Trial) -> dict[str, Any]:
    """A trial with times as JSON."""
    result = trial.result
    assert result is not None
    return {
        "trial": trial.number,
        "source": trial.proposal.source,
        "ms": result.median_seconds * 1e3,
        "ratio": result.ratio,
        "interval": list(result.interval),
        "metrics": dict(result.metrics),
    }


def find_pareto(store: TuningStore, study: int, named: str) -> tuple[list[Trial], tuple[str, ...]]:
    """The trials of a study that no other one beats, and the objectives, by their names.

    Raises:
        WrongUsage: no trial has a value for one of them.
    """
    given = tuple(name.strip() for name in named.split(",") if name.strip())
    objectives = OBJECTIVES if given == (ALL,) else given
    try:
        return pareto_trials(store, study, objectives), objectives
    except ValueError as error:
        raise WrongUsage(str(error)) from None


ALL = "all"
"""Stands for the objectives that every trial has."""
