"""``spaces.study_report``: a page about a study that a colleague can open."""

from __future__ import annotations

from typing import Any

import attrs
from attrs import frozen

from spaces.model.articles import shown_kind
from spaces.pages.json_values import json_value
from spaces.pages.study_page import study_page
from spaces.pages.written_page import WrittenPage
from spaces.tuning.plots.funnel import study_funnel
from spaces.tuning.plots.predictions import study_predictions
from spaces.tuning.plots.progress import study_progress
from spaces.tuning.plots.standing import study_standings
from spaces.tuning.plots.study_record import StudyRecord
from spaces.tuning.study import Study


@frozen(repr=False)
class StudyReport(WrittenPage):
    """A page about a study.

    Attributes:
        html: the text of the page: one file that needs nothing from elsewhere.
        record: the study.
    """

    record: StudyRecord

    def json(self) -> dict[str, Any]:
        """The numbers of the page as JSON's types."""
        record = self.record
        found: dict[str, Any] = {"study": record.about.id, "pipeline": record.about.pipeline}
        found["progress"] = [attrs.asdict(one) for one in study_progress(record)]
        found["funnel"] = attrs.asdict(study_funnel(record))
        found["predictions"] = attrs.asdict(study_predictions(record))
        found["standing"] = [attrs.asdict(one) for one in study_standings(record)]
        made: dict[str, Any] = json_value(found)
        return made

    def __repr__(self) -> str:
        return f"<Report on study {self.record.about.id}: {self._size}>"


def study_report(study: Study | StudyRecord) -> StudyReport:
    """A page about a study. It shows the fastest schedule against time and trials, what became of
    the candidates, and predictions beside measurements. It also shows the decisions that matter,
    what the fastest schedules share, and the schedules by hand and the reference beside.

    Args:
        study: a study, or what :func:`study_record` reads of it from a store.

    Raises:
        TypeError: something else is given.
        StoreError: the store of the study cannot be read.

    >>> study_report(tune(pipeline, seconds=600)).write("report.html")
    """
    if not isinstance(study, Study | StudyRecord):
        raise TypeError(f"study_report takes a Study or a StudyRecord, not {shown_kind(study)}.")
    record = study.record() if isinstance(study, Study) else study
    return StudyReport(study_page(record), record)
