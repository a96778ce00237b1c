"""Search by the sampler of Optuna. Importing this file needs no Optuna."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from functools import partial
from itertools import islice, pairwise
from typing import Any

from attrs import frozen

from spaces.cost.model import CostModel
from spaces.enumerate.search.events import Event, Expanded
from spaces.enumerate.search.limits import Limits
from spaces.enumerate.search.pricer import Pricer
from spaces.enumerate.search.search_steps import (
    PART,
    conclude_search,
    offer_cheapest,
    offer_first,
)
from spaces.enumerate.space.counting.draws import draws
from spaces.enumerate.space.process.decision import DecisionOption
from spaces.enumerate.space.process.partial import PartialSchedule, form_of
from spaces.enumerate.space.schedule_space import ScheduleSpace
from spaces.enumerate.space.structure import Structure
from spaces.model.extras import how_to_install
from spaces.model.schedules.schedule import Schedule


class OptunaUnavailableError(ImportError):
    """Optuna is not installed; ``str`` gives a sentence."""


@frozen(kw_only=True)
class OptunaSearch:
    """Lets the TPE sampler of Optuna (J. Bergstra et al., *Algorithms for hyper-parameter
    optimization*, NIPS 2011) choose the option of each decision. A decision is a categorical
    parameter, a factor the place of its number in the menu. Optuna learns the parameters while
    schedules are decided (*define by run*), as which decisions follow depends on those before. Its
    first trials are the cheapest simple schedule and random legal ones.

    It is for spaces of whole patterns, such as :meth:`Options.medium`; in larger ones most of what
    it proposes is illegal. It skips no option. It prices one choice of numbers at a time.

    Attributes:
        trials: the number of trials, legal or not.
        startup: how many random legal schedules come first.

    Raises:
        OptunaUnavailableError: Optuna is not installed.
    """

    trials: int = 1000
    startup: int = 10

    def __call__(self, space: ScheduleSpace, model: CostModel, limits: Limits) -> Iterator[Event]:
        optuna = _import_optuna()
        pricer = Pricer.of(space, model, limits)
        yield from offer_first(pricer)
        yield from conclude_search(pricer, self._run_trials(optuna, pricer))

    def _run_trials(self, optuna: Any, pricer: Pricer) -> Iterator[Event]:
        space, board = pricer.space, pricer.board
        start = space.start()
        study = _create_study(optuna, board.limits.seed)
        for schedule in self._choose_first(pricer):
            study.enqueue_trial(dict(_name_options(start, schedule)))
        for number in range(self.trials):
            if number % PART == 0:
                yield Expanded(number // PART + 1, -(-self.trials // PART), "trial")
                yield board.scored
            trial = study.ask()
            *_, last = start.led(partial(_suggest_option, trial))
            structure = Structure(last.schedule, {})
            found = yield from offer_cheapest(pricer, structure)
            if found is None:  # TPE takes a pruned trial for one of the worst
                study.tell(trial, state=optuna.trial.TrialState.PRUNED)
            else:
                study.tell(trial, found.cost)

    def _choose_first(self, pricer: Pricer) -> Iterator[Schedule]:
        """The schedules of the first trials."""
        yield from (found.schedule for found in pricer.board.best[:1])
        drawn = islice(draws(pricer.space, pricer.board.limits.seed), 100 * self.startup)
        legal = (draw.schedule for draw in drawn if draw.schedule is not None)
        yield from islice(legal, self.startup)


def _suggest_option(trial: Any, before: PartialSchedule) -> DecisionOption:
    """The option of the next decision that a trial suggests."""
    name, options = _name_parameter(before), before.options
    labels = [option.label for option in options]
    if before.state.has_structure:
        place: int = trial.suggest_int(name, 0, len(options) - 1)
    else:
        place = labels.index(trial.suggest_categorical(name, labels))
    return options[place]


def _name_parameter(before: PartialSchedule) -> str:
    """The name of the parameter of the next decision. A parameter always has the same options. A
    decision may have other options after other decisions, so the name lists the options.
    """
    assert before.decision is not None
    name, options = before.decision.name, before.options
    if before.state.has_structure:
        return f"{name}, {len(options)} numbers"
    return f"{name}: {'; '.join(option.label for option in options)}"


def _name_options(start: PartialSchedule, schedule: Schedule) -> Iterator[tuple[str, str | int]]:
    """The parameters of the schedule of a space that is nearest to one, by name."""
    for before, after in pairwise(start.along(form_of(start.state, schedule))):
        label = after.taken[-1]
        labels = [option.label for option in before.options]
        is_factor = before.state.has_structure
        yield _name_parameter(before), labels.index(label) if is_factor else label


def _create_study(optuna: Any, seed: int) -> Any:
    """A study in memory, without its lines on the terminal."""
    verbosity = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    try:
        return optuna.create_create_study(sampler=optuna.samplers.TPESampler(seed=seed))
    finally:
        optuna.logging.set_verbosity(verbosity)


def _import_optuna() -> Any:
    try:
        return importlib.import_module("optuna")
    except ImportError as error:
        raise OptunaUnavailableError(
            f"The strategy optuna needs Optuna, which can't be imported ({error}): "
            f"{how_to_install('optuna')}."
        ) from None


STRATEGIES = {"optuna": OptunaSearch()}
