"""One page about a study."""

from __future__ import annotations

import math
from collections.abc import Iterator

from spaces.markup.charts.svg import chart_svg
from spaces.markup.element import Child, Markup, joined, table, tag
from spaces.markup.quantities import shown_count, shown_seconds, shown_share
from spaces.model.amounts import amount
from spaces.pages.compared_text import compared_text
from spaces.pages.decision_views import decision_sections, figure
from spaces.pages.page import Section, whole_page
from spaces.pages.page_header import page_header, shown_sizes
from spaces.plots.decisions_chart import decisions_chart
from spaces.plots.funnel import funnel_chart
from spaces.tuning.plots import charts
from spaces.tuning.plots.decisions import study_decisions
from spaces.tuning.plots.funnel import OPEN, study_funnel
from spaces.tuning.plots.kinds import DECISIONS, FUNNEL
from spaces.tuning.plots.predictions import OddPrediction, Predictions, study_predictions
from spaces.tuning.plots.progress import study_progress
from spaces.tuning.plots.standing import study_standings
from spaces.tuning.plots.study_record import StudyRecord
from spaces.tuning.sources import REFERENCE, START
from spaces.tuning.trial import Trial

_LISTED = 15
"""How many of the fastest trials, and of those that failed, are listed."""


def study_page(record: StudyRecord) -> str:
    """The page about a study."""
    title = f"{record.about.pipeline}: study {record.about.id}"
    about = f"study {record.about.id} {shown_sizes(record.pipeline)}".rstrip()
    head = page_header(record.about.pipeline, about, _tiles(record), _warnings(record))
    return whole_page(title, head, _sections(record))


def _tiles(record: StudyRecord) -> Iterator[tuple[str, str]]:
    """The most important numbers: what they are, and the numbers."""
    about = record.about
    if record.ranked:
        best = record.ranked[0]
        yield (
            f"a run of the fastest schedule, trial {best.number} ({best.proposal.source})",
            shown_seconds(record.milliseconds(best) / 1e3),
        )
        for one in study_standings(record):
            if one.source in (REFERENCE, START) and one.number != best.number:
                name = "the reference" if one.source == REFERENCE else "the schedule by hand"
                yield f"times the speed of {name}, trial {one.number}", f"{one.times_best:.2f} ×"
    yield "trials with a result", f"{about.told:,} of {about.trials:,}"
    if record.told:
        yield "of tuning after the first search", shown_seconds(max(record.told.values()))
    yield about.machine.gpu or about.machine.processor, about.device
    yield "cost model", about.model
    yield "began (UTC)", about.created.partition("+")[0].replace("T", " ")


def _warnings(record: StudyRecord) -> Iterator[str]:
    told = [one.result for one in record.trials if one.result is not None]
    disturbed = sum(one.is_disturbed for one in told)
    if disturbed:
        yield (
            f"{disturbed:,} of {amount(len(told), 'result')} came while other programs were "
            "running, or the times of the reference spread by more than a tenth: their times "
            "are less sure."
        )
    if not record.ranked:
        yield "No schedule has a time yet, so most of this page is empty."


def _sections(record: StudyRecord) -> Iterator[Section]:
    points = study_progress(record)
    by_trials, by_time = charts.trials_chart(points), charts.time_chart(points)
    if by_trials is not None:
        yield Section(
            "trials",
            "Best against trials",
            figure(
                chart_svg(by_trials),
                "The fastest schedule is the one with the lowest upper end of its interval. A "
                "point below the line had few runs, or unsteady ones.",
            ),
            wide=by_time is None,
        )
    if by_time is not None:
        yield Section("time", "Best against time", figure(chart_svg(by_time), _TIMES), wide=False)
    standing = charts.standing_chart(study_standings(record))
    if standing is not None:
        yield Section(
            "standing",
            "Beside the hand schedule and the reference",
            figure(chart_svg(standing), _standing_sentence(record)),
            wide=False,
        )
    made = study_funnel(record)
    bars = funnel_chart(made.stages, FUNNEL)
    if bars is not None:
        yield Section(
            "funnel",
            "What became of the candidates",
            figure(
                chart_svg(bars),
                "Made are the structures of the search, and the schedules from elsewhere: given "
                "ones and changes of fast ones. All that is proposed is legal. A "
                "trial may be the fastest if the interval of its time begins below the upper end "
                "of that of the fastest one.",
            ),
            wide=False,
        )
    if record.ranked:
        yield from _sections_of_decisions(record)
        yield Section("schedules", "Schedules", _schedules(record))
    yield Section("list", "Trials", _trials(record))


_TIMES = (
    "Results come in batches. Times between two runs of the tuner are left out. Times of one "
    "schedule are those of its rounds divided by those of the reference beside them."
)


def _sections_of_decisions(record: StudyRecord) -> Iterator[Section]:
    decisions = study_decisions(record)
    guessed = study_predictions(record, decisions)
    drawn = charts.predictions_chart(guessed, record.about.model)
    if drawn is not None:
        yield Section(
            "predictions",
            "Predicted against measured",
            figure(chart_svg(drawn), _ranking(guessed, record)),
            wide=False,
        )
        yield Section("odd", "Where the model is wrong", _odd(guessed), wide=False)
    yield from decision_sections(decisions, decisions_chart(decisions, DECISIONS))


def _standing_sentence(record: StudyRecord) -> str:
    best = record.ranked[0]
    parts = []
    for one in study_standings(record):
        if one.number == best.number or one.source not in (REFERENCE, START):
            continue
        name = "the reference" if one.source == REFERENCE else f"trial {one.number}, by hand,"
        parts.append(f"{name} takes {one.times_best:.2f} times as long")
    told = " and ".join(parts)
    return f"{told[:1].upper()}{told[1:]} as the fastest schedule." if told else ""


def _ranking(made: Predictions, record: StudyRecord) -> str:
    """What the points say as a whole."""
    told = f"{amount(len(made.points), 'measured trial')} with a price."
    if made.ranks is not None:
        told += f" Spearman's rank correlation of price and time is {made.ranks:.2f}."
    told += f" The median trial is wrong by a factor of {made.usual:.2f}."
    by_price = sorted(made.points, key=lambda one: one.predicted)
    place = by_price.index(made.points[0]) + 1
    told += f" The fastest of them has the price of rank {place}."
    if made.unpriced:
        told += (
            f" {amount(made.unpriced, 'trial')} without a price, such as given ones, are left out."
        )
    return told


def _odd(made: Predictions) -> Markup:
    if not made.odd:
        return tag("p", "No trial is far from its price.")
    rows = [
        (one.prediction.number, one.prediction.source, _wrong(one), _rare(one)) for one in made.odd
    ]
    columns = ("trial", "from", "a run takes", "what few others decide")
    return tag("div", table(columns, rows), class_="scroll")


def _wrong(odd: OddPrediction) -> str:
    error = odd.prediction.error
    if error > 1:
        return f"{error:.1f} times as long as its price says"
    return f"{1 / error:.1f} times less than its price says"


def _rare(odd: OddPrediction) -> Markup:
    lines = [
        tag("div", f"{decision}: {value} ", tag("small", f"({shown_share(share)} of trials)"))
        for decision, value, share in odd.rare
    ]
    return joined(lines) if lines else joined("nothing unusual")


def _schedules(record: StudyRecord) -> Markup:
    """The fastest schedule, and how it differs from those that were there before."""
    best = record.ranked[0]
    before = {}
    for trial in record.trials:
        if trial.proposal.source not in (REFERENCE, START) or trial.number == best.number:
            continue
        name = "the reference" if trial.proposal.source == REFERENCE else "the schedule by hand"
        before[f"From {name}, trial {trial.number}, to the fastest"] = trial.schedule
    title = f"The fastest, trial {best.number}"
    return compared_text(record.pipeline, title, best.schedule, before)


def _trials(record: StudyRecord) -> Markup:
    rows = [_trial_row(record, one) for one in record.ranked[:_LISTED]]
    columns = ("trial", "from", "ms", "of the reference", "interval", "runs", "price")
    parts: list[Markup] = []
    if rows:
        listed = f"The {amount(len(rows), 'fastest trial')}" if len(rows) > 1 else "The fastest"
        parts += [tag("h3", listed), tag("div", table(columns, rows), class_="scroll")]
    failed = [one for one in record.trials if one.result is not None and not one.result.seconds]
    if failed:
        reasons = [
            (one.number, one.proposal.source, str(one.result.outcome), one.result.reason[:300])
            for one in failed[:_LISTED]
            if one.result is not None
        ]
        shown = table(("trial", "from", "outcome", "reason"), reasons)
        parts += [tag("h3", f"{len(failed):,} without a time"), tag("div", shown, class_="scroll")]
    waiting = sum(one.result is None for one in record.trials)
    if waiting:
        parts.append(tag("p", f"{amount(waiting, 'trial')} still {OPEN}.", class_="quiet"))
    return joined(parts) if parts else tag("p", "The study has no trials yet.")


def _trial_row(record: StudyRecord, trial: Trial) -> tuple[Child, ...]:
    result = trial.result
    assert result is not None  # ranked trials have times
    low, high = result.interval
    reach = f"{low:.3f} to {high:.3f}" if math.isfinite(high) else "one run"
    price = trial.proposal.predicted
    return (
        trial.number,
        trial.proposal.source,
        record.milliseconds(trial),
        f"{trial.ratio:.3f}",
        reach,
        len(result.seconds),
        "" if price is None else shown_count(price),
    )
