"""A space as independent decisions, for the solver."""

from __future__ import annotations

from collections.abc import Mapping

from attrs import evolve, frozen

from spaces.constraints.solver.universe import Assignment, Decision, Universe
from spaces.enumerate.space.further_sizes import shown_size
from spaces.enumerate.space.process.state import ProcessState
from spaces.enumerate.space.process.topic import Change
from spaces.enumerate.space.process.topics.fusing import joining_rules
from spaces.enumerate.space.process.topics.orders import menu_of
from spaces.enumerate.space.process.topics.placing import entry_topics
from spaces.enumerate.space.schedule_space import ScheduleSpace
from spaces.model.schedules.schedule import FuncSchedule, Schedule


def universe(space: ScheduleSpace) -> Universe:
    """The space without its knowledge of the choices that go together. Each Func chooses from all
    that its topics may decide in any state, and only the rules say which choices are legal.

    The universe has the same legal schedules as the space. The decisions of a Func are called
    ``F.compute``, ``F.store``, ``F.root`` and ``F.inner``. Those about its storage and bounds are
    called ``F.memory`` and the like. A decision about a factor has the name of the parameter. A
    choice with a single option is not a decision.

    Raises:
        ValueError: no universe holds the space (:func:`why_no_universe`).
    """
    if why := why_no_universe(space):
        raise ValueError(why)
    start = space.undecided
    names = [function.name for function in space.pipeline.functions]
    open_ = [name for name in reversed(names) if name not in space.kept_names]
    found = {name: _DecidedFunc.of(start, name) for name in open_}
    given = {entry.name: entry for entry in space.kept.funcs}

    def structure(choice: Assignment) -> Schedule:
        entries = (found[name].entry(choice) if name in found else given[name] for name in names)
        return space.schedule(tuple(entries))

    further = {
        shown_size(size): evolve(space.pipeline, estimates=size).usual_values()
        for size in space.sizes
    }
    decisions = tuple(one for func in found.values() for one in func.decisions)
    rules = (*space.restricted.rules, *joining_rules(start))
    is_joint = bool(space.options.directives_about("several Funcs"))
    return Universe(space.pipeline, decisions, structure, rules, further, is_joint)


def why_no_universe(space: ScheduleSpace) -> str:
    """Why the decisions of a space are not independent decisions about the Funcs of its pipeline,
    in sentences; empty if they are.
    """
    name = space.pipeline.name
    if space.decides_loops:
        return (
            f"The options decide the loops of {name} one by one: which loop may come next depends "
            "on those before, and the decisions of a universe are independent. It has whole "
            "patterns of loops only: give space.of_patterns."
        )
    if adding := space.options.directives_about("graph"):
        return (
            f"The options of {name} have {', '.join(adding)}, so that schedules differ in their "
            "Funcs; a universe decides about the Funcs of one pipeline. Leave these directives "
            "out, or make the space of the pipeline that has the Funcs: derived(pipeline, "
            "schedule)."
        )
    return ""


@frozen
class _DecidedFunc:
    """What is decided about one Func.

    Attributes:
        default: its entry before anything is decided.
        changes: the options of each structural decision.
        factors: the numbers of each parameter.
    """

    default: FuncSchedule
    changes: Mapping[str, Mapping[str, Change]]
    factors: Mapping[str, tuple[int, ...]]

    @staticmethod
    def of(start: ProcessState, name: str) -> _DecidedFunc:
        changes: dict[str, Mapping[str, Change]] = {}
        for topic in entry_topics(start, name):
            changes |= topic.decisions(start)
        default = FuncSchedule.default(start.function(name), stored=False)
        return _DecidedFunc(default, changes, menu_of(start, name).factors)

    @property
    def decisions(self) -> tuple[Decision, ...]:
        func = self.default.name
        named = (
            Decision(name, func, tuple(options))
            for name, options in self.changes.items()
            if len(options) > 1
        )
        numeric = (Decision(name, func, menu) for name, menu in self.factors.items())
        return (*named, *numeric)

    def entry(self, choice: Assignment) -> FuncSchedule:
        """The entry that a choice gives; ignores decisions that do not apply to it."""
        entry = self.default
        for name, options in self.changes.items():
            if options:
                entry = options[str(choice.get(name, next(iter(options))))](entry)
            if entry.compute.is_inline:
                return entry  # the place comes first
        return entry
