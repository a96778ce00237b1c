"""The log of a training: the data of its weights, and how well they rank."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import attrs

from spaces.tuning.learning.examples import Examples
from spaces.tuning.learning.held_out import HeldOut, medians
from spaces.tuning.learning.training import Trained, Training


def training_log(
    found: Examples,
    options: Training,
    trained: Trained,
    judged: Sequence[HeldOut],
    sources: Mapping[str, int],
    processor: str,
) -> dict[str, Any]:
    """The log as JSON's types.

    Args:
        found: the examples of the training.
        options: how it trained.
        trained: the result.
        judged: for each subject, how well a training without it ranks it.
        sources: the number of schedules of each file.
        processor: the CPU on which the schedules were measured.
    """
    return {
        "kind": found.kind,
        "processor": processor,
        "sources": dict(sources),
        "schedules": len(found.examples),
        "subjects": len(found.subjects),
        "training": attrs.asdict(options),
        "loss_curve": list(trained.curve),
        "held_out": {
            "medians": _round_numbers(medians(judged)) if judged else {},
            "subjects": {
                one.subject: _round_numbers(
                    attrs.asdict(one, filter=lambda field, _: field.name != "subject")
                )
                for one in judged
            },
        },
    }


def _round_numbers(numbers: Mapping[str, Any]) -> dict[str, Any]:
    return {name: round(number, 3) for name, number in numbers.items()}
