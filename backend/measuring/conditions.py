"""Under which conditions schedules are timed."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from attrs import Attribute, field, frozen
from attrs.validators import ge

from spaces.constraints.devices.device import CpuDevice, GpuDevice


def _as_tuple(cores: Iterable[int]) -> tuple[int, ...]:
    return tuple(cores)


def _are_cores(_: object, __: Attribute[Any], cores: tuple[int, ...]) -> None:
    if len(set(cores)) < len(cores) or any(core < 0 for core in cores):
        raise ValueError(f"The cores are {cores}; give numbers from 0 on, each once.")


@frozen(kw_only=True)
class RunConditions:
    """Under which conditions schedules are timed on a CPU. Results under different conditions are
    not compared, and studies under different ones are apart.

    Attributes:
        cold: whether the caches are emptied before each run. A run that other work precedes, as in
            most applications, finds its inputs in memory; a warm run finds small ones in caches.
        input_seed: the seed of random values for the images for which the user gives none; by
            default seed 0.
        new_inputs: draw other values each time that workers start, for pipelines whose time depends
            on the values.
        cores: the cores that run, each thread on one of its own; by default all that this process
            may use. Other processes may measure on other cores meanwhile.
        free_cores: measure on this many cores that nothing else uses, whichever these are, also
            while another process measures; by default no core is looked for. A core whose hardware
            threads do other work is not free.

    Raises:
        ValueError: a core is named twice or below 0, or two contradict each other: a seed and new
            inputs, or cores and free ones.
    """

    cold: bool = False
    input_seed: int | None = None
    new_inputs: bool = False
    cores: tuple[int, ...] = field(default=(), converter=_as_tuple, validator=_are_cores)
    free_cores: int = field(default=0, validator=ge(0))

    def __attrs_post_init__(self) -> None:
        if self.cores and self.free_cores:
            raise ValueError("Give cores, or how many free cores to look for, not both.")
        if self.input_seed is not None and self.new_inputs:
            raise ValueError("Give a seed of the inputs, or ask for new ones each time, not both.")

    @property
    def core_count(self) -> int | None:
        """How many cores run; None for all."""
        return len(self.cores) or self.free_cores or None

    @property
    def draws_inputs(self) -> bool:
        """Whether the conditions say how random inputs are drawn."""
        return self.new_inputs or self.input_seed is not None

    @property
    def text(self) -> str:
        """The conditions in words, which are equal for equal conditions; empty for the default
        ones.
        """
        parts = []
        if self.cold:
            parts.append("cold caches")
        if self.new_inputs:
            parts.append("new inputs")
        if self.input_seed is not None:
            parts.append(f"inputs {self.input_seed}")
        if self.cores:
            parts.append(f"cores {','.join(map(str, sorted(self.cores)))}")
        if self.free_cores:
            parts.append(f"free cores: {self.free_cores}")
        return ", ".join(parts)

    def __str__(self) -> str:
        return self.text or "warm caches, all cores"


USUAL = RunConditions()
"""Warm caches, the same inputs in all runs, all cores."""


def check_conditions(conditions: RunConditions, target: CpuDevice | GpuDevice) -> None:
    """Raises:
    ValueError: the conditions are those of a CPU, and the device is a GPU.
    """
    if isinstance(target, GpuDevice) and (conditions.cold or conditions.core_count):
        raise ValueError(f"Cold caches and cores are for CPUs, and {target.name} is a GPU.")
