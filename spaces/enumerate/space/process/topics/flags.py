"""Decisions about what a directive without arguments sets of a Func, such as ``memoize``."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from attrs import evolve, frozen

from spaces.enumerate.space.process.state import ProcessState
from spaces.enumerate.space.process.topic import EntryChoice, EntryTopic, ListedTopic, unchanged
from spaces.model.directives.call_directives import FLAGS
from spaces.model.schedules.schedule import FuncSchedule


@frozen
class FlagTopic(ListedTopic):
    """Whether a Func has one of the settings of :data:`FLAGS`."""

    func: str
    setting: str

    @property
    def name(self) -> str:
        return f"{self.func} {self.setting}"

    def choices(self, state: ProcessState) -> Iterator[EntryChoice]:
        yield EntryChoice(f"{self.func} is not {self.setting}", {self.name: None}, unchanged)
        label = f"{self.func}.{FLAGS[self.setting].spelled}()"
        yield EntryChoice(label, {self.name: 1}, partial(_set, self.setting))


def _set(setting: str, entry: FuncSchedule) -> FuncSchedule:
    changed: dict[str, Any] = {setting: True}
    return evolve(entry, **changed)


def flag_topics(state: ProcessState, func: str) -> Iterator[EntryTopic]:
    """What is decided about the settings of a Func, by the directives of the space. Outputs belong
    to the caller.
    """
    if func not in state.pipeline.outputs:
        for setting, directive in FLAGS.items():
            if directive.name in state.choices.directives:
                yield FlagTopic(func, setting)


TOPICS = (flag_topics,)
