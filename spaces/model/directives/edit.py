"""An edit: one change of a schedule.

All that goes from a schedule to others near it makes edits: [TOY]'s transformers, repairs, and
searches that change the decisions of a space. They differ in how they choose among edits, and a
subclass adds what it chooses by.
"""

from __future__ import annotations

from attrs import field, frozen

from spaces.model.schedules.schedule import Schedule


@frozen
class Edit:
    """One change of a schedule.

    Attributes:
        func: the Func that it is about; empty if it is about the whole pipeline.
        after: the schedule after it.
        text: what it does, in words or as the directive to write.
    """

    func: str
    after: Schedule = field(repr=False)
    text: str = field(default="", kw_only=True)
