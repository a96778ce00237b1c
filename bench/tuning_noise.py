"""How often tuning draws the right conclusions from noisy times: a simulation with stated noise.

``python -m bench tuning_noise`` simulates tuning by made-up times, without running a schedule, and
writes ``bench/results/tuning_noise.json``. For each noise it says how often a race leaves out its
fastest candidate, and how many runs it took. It says how much slower the schedule is that tuning
ends with than the fastest one, and how often the interval of a ratio holds the true ratio. Beside
the rule of the library stands successive halving by medians without a second look at finalists.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from attrs import asdict, evolve, frozen

from bench.report import RESULTS
from spaces.apps.files import write_text
from spaces.backend.measuring.rounds import Candidate, Race, TimedRounds, time_in_rounds
from spaces.cost.measurer import Measurement, RunOutcome, interval_of_median
from spaces.model.schedules.schedule import Schedule
from spaces.tuning.trial import Proposal, Trial, fastest, finalists

FILE = RESULTS / "tuning_noise.json"

BATCH = 6
"""How many candidates race at once, beside the reference and the incumbent."""

BATCHES = 10
"""How many races a tuning has."""

ROUNDS = 15
"""The most rounds of a race."""

SPREAD = 0.3
"""The standard deviation of the logarithms of the true times of schedules."""

COUNTS = (2, 3, 4, 5, 6, 8, 11, 15)
"""The numbers of runs for which intervals are judged."""


@frozen
class Noise:
    """How times differ from run to run.

    Attributes:
        spread: the standard deviation of the logarithm of a time: each run is log-normal.
        spikes: the chance that a run takes longer: by half of its time in the mean, exponentially.
        drift: the standard deviation by which the speed of the machine changes from run to run, for
            good.
    """

    spread: float
    spikes: float
    drift: float

    def draw(self, true: float, pace: float, chosen: random.Random) -> float:
        """A run of a program."""
        seconds = true * pace * math.exp(chosen.gauss(0, self.spread))
        is_disturbed = chosen.random() < self.spikes
        return seconds * (1 + chosen.expovariate(2.0)) if is_disturbed else seconds


NOISES = {
    "quiet": Noise(0.01, 0.02, 0.002),
    "shared": Noise(0.05, 0.1, 0.01),
    "busy": Noise(0.1, 0.2, 0.02),
}


@frozen(kw_only=True)
class Halving(Race):
    """Successive halving by medians after 2, 4 and 8 rounds, for comparison."""

    def survivors(self, ratios: dict[Candidate, list[float]]) -> set[Candidate]:
        rounds = min(map(len, ratios.values()), default=0)
        if rounds not in (2, 4, 8):
            return set(ratios)
        middles = {key: statistics.median(found) for key, found in ratios.items()}
        ordered = sorted(middles, key=lambda key: middles[key])
        near = (key for key in ordered if middles[key] <= 1.1 * middles[ordered[0]])
        return {*ordered[: math.ceil(len(ordered) / 2)], *near}

    def is_precise(self, ratios: Sequence[float]) -> bool:
        return False


def simulate_race(
    true: Mapping[int, float], noise: Noise, race: Race, chosen: random.Random
) -> TimedRounds[int]:
    """The times of a race among candidates with these true times; the reference takes 1."""
    pace = 1.0

    def time(key: int | None) -> float:
        nonlocal pace
        pace *= math.exp(chosen.gauss(0, noise.drift))
        return noise.draw(1.0 if key is None else true[key], pace, chosen)

    seed = chosen.randrange(1 << 30)
    *_, found = time_in_rounds(time, true, ROUNDS, race=race, seed=seed)
    return found


def share_of_lost_races(noise: Noise, race: Race, races: int) -> float:
    """The share of races that leave out their fastest candidate."""
    chosen, lost = random.Random(1), 0
    for _ in range(races):
        true = dict(enumerate(_draw_times(chosen, BATCH + 1)))
        lost += (
            min(true, key=lambda key: true[key])
            not in simulate_race(true, noise, race, chosen).alive
        )
    return lost / races


def _draw_times(chosen: random.Random, count: int) -> list[float]:
    return [math.exp(chosen.gauss(0, SPREAD)) for _ in range(count)]


@frozen
class Conclusion:
    """What a simulated tuning concludes.

    Attributes:
        regret: how much slower its choice is than the fastest schedule that it timed, as a part of
            the latter's time.
        runs: how many runs of schedules it took.
    """

    regret: float
    runs: int


def conclude_by_library(noise: Noise, seed: int) -> Conclusion:
    """Tunes as a study does: the incumbent takes part in each race, and finalists race again."""
    chosen = random.Random(seed)
    true = _draw_times(chosen, 1 + BATCH * BATCHES)
    trials: dict[int, Trial] = {}
    runs = 0

    def measure(keys: Sequence[int]) -> None:
        nonlocal runs
        times = simulate_race({key: true[key] for key in keys}, noise, Race(), chosen)
        for key in keys:
            runs += len(times.seconds[key])
            trials[key] = _with_runs(trials.get(key, _open_trial(key)), times, key)

    for first in range(0, len(true), BATCH):
        batch = range(first, min(first + BATCH, len(true)))
        measure([*batch, *(one.number for one in fastest(trials.values())[:1])])
    last = [one.number for one in finalists(trials.values())]
    if len(last) > 1:
        measure(last)
    return Conclusion(true[fastest(trials.values())[0].number] / min(true) - 1, runs)


def conclude_by_halving(noise: Noise, seed: int) -> Conclusion:
    """Tunes by successive halving by medians. The choice has the lowest upper end of the range of
    its ratios, or of their interval from six runs on.
    """
    chosen = random.Random(seed)
    true = _draw_times(chosen, 1 + BATCH * BATCHES)
    ends: dict[int, float] = {}
    runs = 0
    for first in range(0, len(true), BATCH):
        batch = range(first, min(first + BATCH, len(true)))
        times = simulate_race({key: true[key] for key in batch}, noise, Halving(), chosen)
        for key, ratios in times.ratios(batch).items():
            runs += len(ratios)
            ends[key] = interval_of_median(ratios)[1] if len(ratios) >= 6 else max(ratios)
    return Conclusion(true[min(ends, key=lambda key: ends[key])] / min(true) - 1, runs)


def _open_trial(number: int) -> Trial:
    return Trial(number, Proposal(Schedule(()), "simulation"))


def _with_runs(trial: Trial, times: TimedRounds[int], key: int) -> Trial:
    more = Measurement(
        trial.schedule, RunOutcome.CORRECT, "",
        tuple(times.seconds[key]), tuple(times.reference[key]),
    )  # fmt: skip
    return evolve(trial, result=more if trial.result is None else trial.result.with_runs_of(more))


def share_of_intervals_that_hold(noise: Noise, count: int, draws: int) -> float:
    """The share of intervals, each of that many ratios, that hold the true ratio 1."""
    chosen, held = random.Random(count), 0
    for _ in range(draws):
        ratios = [noise.draw(1.0, 1.0, chosen) / noise.draw(1.0, 1.0, chosen) for _ in range(count)]
        low, high = interval_of_median(ratios)
        held += low <= 1.0 <= high
    return held / draws


def simulate(noise: Noise, *, races: int, tunings: int, draws: int) -> dict[str, Any]:
    """All figures for a noise.

    Args:
        noise: the noise.
        races: the number of simulated races.
        tunings: the number of simulated tunings for each rule.
        draws: the number of intervals for each number of runs.
    """
    found: dict[str, Any] = {"noise": asdict(noise)}
    rules = (("library", Race(), conclude_by_library), ("halving", Halving(), conclude_by_halving))
    for name, race, conclude in rules:
        conclusions = [conclude(noise, seed) for seed in range(tunings)]
        found[name] = {
            "lost_races": share_of_lost_races(noise, race, races),
            "mean_regret": statistics.fmean(one.regret for one in conclusions),
            "right": statistics.fmean(one.regret == 0 for one in conclusions),
            "mean_runs": statistics.fmean(one.runs for one in conclusions),
        }
    found["coverage"] = {
        str(count): share_of_intervals_that_hold(noise, count, draws) for count in COUNTS
    }
    return found


def table() -> str:
    """The committed results as a table in Markdown."""
    results = json.loads(FILE.read_text("utf-8"))
    lines = [
        "| noise | races that leave out their fastest | regret | right choice | runs |",
        "| --- | --- | --- | --- | --- |",
    ]
    for name, found in results.items():
        noise = Noise(**found["noise"])
        for rule, shown in (("library", ""), ("halving", ", halving by medians")):
            mine = found[rule]
            lines.append(
                f"| {name} ({noise.spread:.0%}, {noise.spikes:.0%}){shown} "
                f"| {mine['lost_races']:.1%} | {mine['mean_regret']:.2%} | {mine['right']:.0%} "
                f"| {mine['mean_runs']:.0f} |"
            )
    return "\n".join(lines)


def main(arguments: list[str]) -> None:
    """Simulates, prints, and writes the file."""
    argparse.ArgumentParser(prog="python -m bench tuning_noise", description=__doc__).parse_args(
        arguments
    )
    results = {}
    for name, noise in NOISES.items():
        results[name] = simulate(noise, races=1000, tunings=300, draws=4000)
        print(name, json.dumps(results[name]), flush=True)
    write_text(FILE, json.dumps(results, indent=2) + "\n")
