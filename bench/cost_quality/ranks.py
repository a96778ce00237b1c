"""How well the cost model ``reuse`` ranks the measured schedules without some of its terms.

``python -m bench ranks`` leaves out each term in turn and writes ``bench/results/ranks.json``, from
which ``python -m docs.cost_terms`` makes its table. ``--without TERM``, which may be given again,
leaves out these terms together and prints the figures. Nothing is measured.

A small loss on these schedules is no proof that a term is idle: half of them are drawn at random,
and a search visits extremes.
"""

from __future__ import annotations

import argparse
import json
import statistics
from collections.abc import Mapping, Sequence

import numpy as np
from attrs import asdict, frozen

from bench.cost_quality.measured_sets import Measured, by_pipeline, measured_files
from bench.cost_quality.pricing import common_device
from bench.cost_quality.records import FOLDER
from bench.cost_quality.scores import regret, spearman
from spaces.cost.batch import Batch
from spaces.cost.cpu.catalogue import term_names
from spaces.cost.cpu.reuse import Reuse
from spaces.features.extraction import FeatureMemo

FILE = FOLDER.parent / "ranks.json"
"""The figures without each term."""


@frozen
class Ranks:
    """How well a model ranks the schedules of several pipelines.

    Attributes:
        median: of Spearman's correlation of costs and times over the pipelines.
        quartile: its lower quartile.
        regret: by how much the cheapest schedule is slower than the fastest: the mean over the
            pipelines, as a part of the time of the fastest.
    """

    median: float
    quartile: float
    regret: float


def main(arguments: list[str]) -> None:
    """Prints the table; writes the file if it has each term."""
    parser = argparse.ArgumentParser(prog="python -m bench ranks", description=__doc__)
    parser.add_argument(
        "--without",
        action="append",
        choices=term_names(),
        metavar="TERM",
        help=f"leave out this term; may be given again: {', '.join(term_names())}",
    )
    without = parser.parse_args(arguments).without
    chosen = [tuple(without)] if without else [(one,) for one in term_names()]
    found = rank_without([(), *chosen], by_pipeline(measured_files()))
    print(table(found))
    if not without:
        FILE.write_text(json.dumps({k: _plain(v) for k, v in found.items()}, indent=2) + "\n")


def rank_without(
    left_out: Sequence[tuple[str, ...]], measured: Measured
) -> dict[str, dict[str, Ranks]]:
    """For each choice of terms, and each set of pipelines, how well the model ranks without them.

    Raises:
        UnknownTermError: there is no such term.
        OtherProcessorError: schedules of one pipeline ran on several processors.
    """
    scores: dict[str, list[list[tuple[float, float]]]] = {}
    for (kind, _), schedules in measured.items():
        plain = Reuse(common_device(schedules))
        models = [plain.without(*terms) for terms in left_out]
        memo = FeatureMemo()
        batches = (Batch.of(one.pipeline, one.schedule, memo=memo) for one in schedules)
        costs = np.array([[model.cost(batch) for model in models] for batch in batches], float)
        times = [one.ratio for one in schedules]
        of_models = [(spearman(c, times), regret(c, times, top=1)) for c in costs.T.tolist()]
        scores.setdefault(kind, []).append(of_models)
    return {
        ", ".join(terms) or "nothing": {
            kind: _ranks([one[place] for one in found]) for kind, found in scores.items()
        }
        for place, terms in enumerate(left_out)
    }


def _ranks(scores: Sequence[tuple[float, float]]) -> Ranks:
    correlations = [one for one, _ in scores]
    return Ranks(
        statistics.median(correlations),
        float(np.quantile(correlations, 0.25)),
        statistics.fmean(one for _, one in scores),
    )


def _plain(found: Mapping[str, Ranks]) -> dict[str, dict[str, float]]:
    return {
        kind: {name: round(number, 4) for name, number in asdict(one).items()}
        for kind, one in found.items()
    }


def table(found: Mapping[str, Mapping[str, Ranks]]) -> str:
    """The figures as a table of Markdown."""
    kinds = dict.fromkeys(kind for each in found.values() for kind in each)
    headers = ["without", *(f"{kind}: {what}" for kind in kinds for what in HEADERS)]
    lines = [
        [name, *(text for kind in kinds for text in show_ranks(each[kind]))]
        for name, each in found.items()
    ]
    rows = (headers, ["---"] * len(headers), *lines)
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


HEADERS = ("median", "lower quartile", "regret of the first")
"""The columns of a set of pipelines."""


def show_ranks(ranks: Ranks) -> tuple[str, str, str]:
    """The figures in the order of :data:`HEADERS`."""
    return f"{ranks.median:.3f}", f"{ranks.quartile:.3f}", f"{ranks.regret:.1%}"
