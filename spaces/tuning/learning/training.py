"""Trains a network on measured schedules: Adam with decay of weights, in NumPy."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from attrs import evolve, frozen

from spaces.cost.learned.inputs import PRICES_OF, Floats
from spaces.cost.learned.network import LAYERS, Network
from spaces.tuning.learning.examples import Examples, Group, TrainingExample, by_subject
from spaces.tuning.learning.gradients import Slopes, loss_and_slopes
from spaces.tuning.learning.losses import LOSSES

_FIRST_MOMENT, _SECOND_MOMENT = 0.9, 0.999
_WARM_UP = 0.05
"""The share of the steps in which the rate rises; then it falls like a cosine."""


@frozen(kw_only=True)
class Training:
    """How a network is trained.

    Attributes:
        loss: the name of the loss.
        steps: the number of steps.
        rate: the largest rate of a step.
        decay: a step takes this share of each weight, times the rate, off it.
        group: how many schedules of a subject a step reads.
        subjects: the number of subjects whose schedules a step reads.
        widths: the widths of the layers ``algorithm``, ``schedule`` and ``trunk``.
        seed: of the first weights and of the order of schedules.
    """

    loss: str = "logarithm"
    steps: int = 300
    rate: float = 0.003
    decay: float = 10.0
    group: int = 32
    subjects: int = 8
    widths: tuple[int, int, int] = (12, 24, 24)
    seed: int = 0


TRAININGS: Mapping[str, Training] = {"hybrid": Training(), "learned": Training(decay=3.0)}
"""The default training of each kind of network: the one that ranks subjects best that it did not
see. The strong decay holds the hybrid near ``reuse``.
"""


@frozen(eq=False)
class Trained:
    """A trained network, and the loss in tenths of the training."""

    network: Network
    curve: tuple[float, ...]


def start_network(found: Examples, options: Training) -> Network:
    """A network whose coefficients are the prices: its last layer is 0, the others are random. The
    inputs are scaled by the mean and the spread of the examples.
    """
    generator = np.random.default_rng(options.seed)
    scales: dict[str, Floats] = {}
    for name in ("algorithm", "schedule"):
        inputs = np.concatenate([getattr(one, name) for one in found.examples])
        scales[f"{name}_mean"] = inputs.mean(0)
        # What hardly differs in training must not decide elsewhere.
        scales[f"{name}_spread"] = np.maximum(inputs.std(0), 0.3)
    prices = PRICES_OF[found.kind]
    scales["prices"] = np.array([prices[name] for name in found.names[2]])
    first, second, trunk = options.widths
    shapes = {
        "algorithm": (len(found.names[0]), first),
        "schedule": (len(found.names[1]), second),
        "trunk": (first + second, trunk),
        "head": (trunk, len(found.names[2])),
    }
    weights: dict[str, Floats] = {}
    for name in LAYERS:
        rows, columns = shapes[name]
        weights[name] = generator.normal(0.0, (2 / rows) ** 0.5, (rows, columns))
        weights[f"{name}_offset"] = np.zeros(columns)
    weights["head"] = np.zeros_like(weights["head"])
    return Network(found.kind, *found.names, scales=scales, weights=weights)


def train(
    found: Examples,
    options: Training = Training(),
    progress: Callable[[int, float], None] = lambda step, loss: None,
) -> Trained:
    """Trains a network; the same examples and options give the same network.

    Args:
        found: the examples, of at least one subject with two schedules.
        options: how.
        progress: called with the number of each step and its loss.
    """
    network = start_network(found, options)
    generator = np.random.default_rng([options.seed, 1])
    members = [own for own in by_subject(found).values() if len(own) > 1]
    state = _Adam(
        {name: np.zeros_like(array) for name, array in network.weights.items()},
        {name: np.zeros_like(array) for name, array in network.weights.items()},
    )
    losses: list[float] = []
    for step in range(options.steps):
        value, slopes = _step(network, members, options, generator)
        losses.append(value)
        network = state.take_step(network, slopes, step, options)
        progress(step, value)
    tenths = np.array_split(np.array(losses), min(10, len(losses)))
    return Trained(network, tuple(float(f"{part.mean():.5g}") for part in tenths))


def _step(
    network: Network,
    members: Sequence[Sequence[TrainingExample]],
    options: Training,
    generator: np.random.Generator,
) -> tuple[float, Slopes]:
    """The mean loss and slopes of some schedules of some subjects."""
    count = min(options.subjects, len(members))
    chosen = generator.choice(len(members), count, replace=False)
    value, slopes = 0.0, {name: np.zeros_like(w) for name, w in network.weights.items()}
    for place in chosen:
        own = members[place]
        some = generator.permutation(len(own))[: options.group]
        group = Group.of([own[number] for number in some])
        loss, found = loss_and_slopes(network, group, LOSSES[options.loss])
        value += loss / count
        for name, slope in found.items():
            slopes[name] += slope / count
    return value, slopes


@frozen
class _Adam:
    """The running means of slopes and of their squares (Kingma and Ba 2015), with the decay of
    weights apart from them (Loshchilov and Hutter 2019).
    """

    means: Slopes
    squares: Slopes

    def take_step(self, network: Network, slopes: Slopes, step: int, options: Training) -> Network:
        """The network after a step."""
        rate = options.rate * _share(step / options.steps)
        weights: dict[str, Floats] = {}
        for name, slope in slopes.items():
            mean, square = self.means[name], self.squares[name]
            mean += (1 - _FIRST_MOMENT) * (slope - mean)
            square += (1 - _SECOND_MOMENT) * (slope**2 - square)
            move = mean / (1 - _FIRST_MOMENT ** (step + 1))
            size = (square / (1 - _SECOND_MOMENT ** (step + 1))) ** 0.5
            old = network.weights[name]
            weights[name] = old - rate * (move / (size + 1e-8) + options.decay * old)
        return evolve(network, weights=weights)


def _share(done: float) -> float:
    """The rate, as a share of the largest, when this share of the steps is done."""
    if done < _WARM_UP:
        return done / _WARM_UP
    return float(0.5 * (1 + np.cos(np.pi * (done - _WARM_UP) / (1 - _WARM_UP))))
