"""What is wrong with the conditions of a space, in sentences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from attrs import frozen

from spaces.constraints.devices.device import CpuDevice, Device
from spaces.enumerate.space.restrictions.restriction import FeatureCondition
from spaces.features.used_features import FeatureNameError, UsedFeature
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.amounts import amount
from spaces.model.formulas.algebra import INTEGERS, FormulaError, read
from spaces.model.schedules.schedule import StageOf
from spaces.model.suggestions import some_of, suggestion


@frozen
class Nameable:
    """What the conditions of a space may name.

    Attributes:
        pipeline: the pipeline.
        device: the device.
        loops: for each stage the loops that it may have; empty if their names are not known before
            they are decided.
        derived: the Funcs that a schedule may add.
    """

    pipeline: Pipeline
    device: Device
    loops: Mapping[StageOf, tuple[str, ...]]
    derived: frozenset[str]

    def mistakes(self, condition: FeatureCondition) -> Iterator[str]:
        """The mistakes in a condition."""
        try:
            used = condition.features
            read(condition.holds, dict.fromkeys(condition.holds.names, 1), INTEGERS)
        except (FeatureNameError, FormulaError) as error:
            yield f"The restriction `{condition}` cannot be read: {error}"
            return
        if not used:
            yield f"The restriction `{condition}` names no feature of a schedule."
        for feature in used:
            mistake = self._mistake(feature)
            if mistake:
                yield f"The restriction `{condition}` has a mistake: {mistake}"

    def _mistake(self, used: UsedFeature) -> str:
        """What is wrong with a feature; empty if nothing is."""
        feature, func = used.feature, used.func
        if feature.device is not None and not isinstance(self.device, feature.device):
            is_cpu = feature.device is CpuDevice
            kinds = ("CPUs", "a GPU") if is_cpu else ("GPUs", "a CPU")
            return (
                f"{feature.name} is a feature of {kinds[0]}, and {self.device.name} is {kinds[1]}."
            )
        functions = {function.name: function for function in self.pipeline.functions}
        if not func or func in self.derived:
            return ""
        if func not in functions:
            return _unknown(f"Pipeline {self.pipeline.name}", "Func", func, tuple(functions))
        stage = StageOf(func, int(used.arguments.get("stage", 0)))
        count = len(functions[func].stages)
        if stage.stage >= count:
            stages = amount(count, "stage")
            return f"{func} has {stages}, from number 0; it has no stage {stage.stage}."
        loop, var = (str(used.arguments.get(name, "")) for name in ("loop", "var"))
        if var and var not in functions[func].args:
            return _unknown(func, "Var", var, functions[func].args)
        known = self.loops.get(stage, ())
        if loop and known and loop not in known:
            return _unknown(str(stage), "loop", loop, known)
        return ""


def _unknown(owner: str, what: str, name: str, known: tuple[str, ...]) -> str:
    near = suggestion(name, known)
    return f"{owner} has no {what} {name!r}{near}; it has {some_of(known) or 'none'}."
