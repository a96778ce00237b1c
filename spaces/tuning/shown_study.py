"""Studies as text, and as cards in notebooks and terminals."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from spaces.markup.card import Card, CardChart, Listing, Share, Table, card
from spaces.markup.charts.chart import without_hints
from spaces.model.amounts import amount
from spaces.model.showing import few_lines
from spaces.tuning.plots.charts import trials_chart
from spaces.tuning.plots.progress import study_progress
from spaces.tuning.schema import StoreError

if TYPE_CHECKING:
    from spaces.tuning.study import Study

_MOST_LINES = 100
"""The most trials that are read for a text, which shows fewer of them."""

_SHOWN = 5
"""How many trials a card shows, the fastest ones."""


def study_text(study: Study) -> str:
    """The fastest schedule of a study, or what became of its first trials if none has times."""
    head = f"{study!r}, in {study.store.path}"
    try:
        return few_lines([head, *_lines(study)])
    except StoreError as error:
        return f"{study!r}. {error}"


def _lines(study: Study) -> list[str]:
    best = study.best
    if best is not None:
        lines = [f"fastest: trial {best.number} ({best.proposal.source}), {best.result}"]
        lines += str(best.schedule).splitlines()
        return lines
    told = (one for one in study if one.result is not None)
    first = islice(told, _MOST_LINES)
    return [f"trial {one.number} ({one.proposal.source}): {one.result}" for one in first]


def study_card(study: Study) -> Card:
    """A study as a card: how far it is, its fastest trials, and the best schedule."""
    about = f"{study.space.pipeline.name} for {study.space.device.name}"
    try:
        return _card_of_trials(study, about)
    except StoreError as error:
        return card(f"Study {study.id}", f"{about}: {error}")


def _card_of_trials(study: Study, about: str) -> Card:
    best = study.trial_log.ranked[:_SHOWN]
    rows = tuple((t.number, t.proposal.source, t.ratio, Share(1 / t.ratio)) for t in best)
    told = Table(("trial", "from", "time / reference", ""), rows) if rows else None
    many = f"{about}: {study.told} of {amount(len(study.trial_log), 'trial')} measured"
    schedule = Listing(str(best[0].schedule)) if best else None
    return card(f"Study {study.id}", many, _drawn_progress(study), told, schedule)


def _drawn_progress(study: Study) -> CardChart | None:
    """The fastest schedule against the number of results; None if the study has no result."""
    chart = trials_chart(study_progress(study.record()))
    return None if chart is None else CardChart(without_hints(chart))
