"""Programs for calls in which some outputs have no elements.

A schedule is for outputs that have elements: its regions join what all outputs need. So a pipeline
of several outputs has a second program, which runs where some of them are empty. It computes each
other output on its own, in plain loops. Such calls are rare, and the first one compiles it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from attrs import evolve, frozen

from spaces.backend.ir.host import GpuProgram, HostBlock, HostIf
from spaces.backend.ir.program import LoopProgram, SizeCheck
from spaces.backend.ir.statements import If, block
from spaces.backend.lowering.start import over_arrays, sizes_of_tuples
from spaces.constraints.reasoning.formulas import all_of
from spaces.model.algorithm.pipeline import Function, Pipeline, size_variable
from spaces.model.expressions.expr import Call, Expr, Variable
from spaces.model.expressions.rewrite import rewrite
from spaces.model.nest.loopnest import LoopNest, loop_nest
from spaces.model.schedules.conditions import implied
from spaces.model.schedules.schedule import FuncSchedule, Schedule

_INSIDE = "{}.inside"
"""The name of an output in the program of another output that reads it."""


@frozen(eq=False)
class OutputAlone:
    """One output without the others: the plain loop nest, and the conditions for it to have
    elements.
    """

    has_elements: tuple[Expr, ...]
    nest: LoopNest


def outputs_alone(pipeline: Pipeline, schedule: Schedule) -> tuple[OutputAlone, ...]:
    """Each output without the others. Funcs that ``schedule`` inlines stay inlined; all others are
    computed at root, within the bounds that it declares.
    """
    return tuple(_alone(pipeline, output, schedule) for output in pipeline.outputs)


def with_empty_outputs(
    program: LoopProgram, pipeline: Pipeline, alone: Mapping[OutputAlone, LoopProgram]
) -> LoopProgram:
    """``program`` for calls in which all outputs have elements, and the programs of each output
    ``alone`` for all other calls.
    """
    parts = (If(all_of(one.has_elements), other.body) for one, other in alone.items())
    every = tuple(condition for one in alone for condition in one.has_elements)
    asked = frozenset(over_arrays(pipeline, tuple(p.condition for p in pipeline.promises)))
    checks = (
        *(c if c.condition in asked else _where(every, c) for c in program.size_checks),
        *_checks({one: other.size_checks for one, other in alone.items()}),
    )
    buffers = (evolve(b, least_extent=0) if b.is_output else b for b in program.buffers)
    return evolve(
        program,
        buffers=tuple(buffers),
        size_checks=tuple(dict.fromkeys(checks)),
        body=If(all_of(every), program.body, block(*parts)),
    )


def program_beside_empty_outputs(
    program: GpuProgram, alone: Mapping[OutputAlone, GpuProgram]
) -> GpuProgram:
    """The program for calls in which some outputs are empty and others are not. ``program`` is for
    calls in which all have elements.
    """
    steps = (HostIf(all_of(one.has_elements), other.body) for one, other in alone.items())
    return evolve(
        program,
        size_checks=tuple(_checks({one: other.size_checks for one, other in alone.items()})),
        kernels=tuple(kernel for other in alone.values() for kernel in other.kernels),
        body=HostBlock(tuple(steps)),
        assumptions=(),
        dimensions={
            name: found for other in alone.values() for name, found in other.dimensions.items()
        },
    )


def _alone(pipeline: Pipeline, output: str, schedule: Schedule) -> OutputAlone:
    needed = (output, *pipeline.producers[output])
    inside = {name: _INSIDE.format(name) for name in pipeline.outputs if name != output}
    sizes = sizes_of_tuples(pipeline)

    def renamed(node: Expr) -> Expr:
        match node:
            case Call(target=target) if target in inside:
                return Call(node.type, inside[target], node.args, node.component)
            case Variable(name=name) if name in sizes and not name.startswith(f"{output}."):
                return sizes[name]
        return node

    kept = tuple(f for f in pipeline.functions if f.name in needed)
    functions = tuple(
        Function(
            inside.get(f.name, f.name),
            f.args,
            f.types,
            tuple(stage.mapped(lambda expr: rewrite(expr, renamed)) for stage in f.stages),
        )
        for f in kept
    )
    smaller = evolve(
        pipeline,
        functions=functions,
        outputs=(output,),
        estimates=(),
        derivations=(),
        promises=tuple(p for p in pipeline.promises if not _is_about(p.condition, inside)),
    )
    plain = Schedule(
        tuple(
            _plain(new, schedule.of(old.name), stored=old.name in pipeline.outputs)
            for new, old in zip(functions, kept, strict=True)
        )
    )
    function = pipeline.function(output)
    sides = (size_variable(output, "extent", d) >= 1 for d in range(len(function.args)))
    return OutputAlone(over_arrays(pipeline, tuple(sides)), loop_nest(smaller, plain))


def _plain(function: Function, given: FuncSchedule, *, stored: bool) -> FuncSchedule:
    """The plain loops of a Func, inlined where ``given`` inlines it and it is not ``stored``."""
    is_inlined = given.compute.is_inline and function.is_pure and not stored
    return evolve(FuncSchedule.default(function, not is_inlined), bounds=given.bounds)


def _is_about(condition: Expr, buffers: Mapping[str, str]) -> bool:
    """Whether a condition names a size of some buffers."""
    return any(name.rsplit(".", 2)[0] in buffers for name in condition.names)


def _checks(found: Mapping[OutputAlone, tuple[SizeCheck, ...]]) -> Iterator[SizeCheck]:
    """Size checks of outputs alone; they matter for those that have elements."""
    for one, checks in found.items():
        yield from (_where(one.has_elements, check) for check in checks)


def _where(conditions: tuple[Expr, ...], check: SizeCheck) -> SizeCheck:
    return SizeCheck(implied(conditions, check.condition), check.message)
