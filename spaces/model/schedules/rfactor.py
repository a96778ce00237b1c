"""Reductions in two steps (Halide's ``rfactor``): an intermediate Func with a Var for some of the
RVars holds partial results, and the update then reduces these.
"""

from __future__ import annotations

from typing import TypeAlias

from attrs import define, evolve, field, frozen

from spaces.model.algorithm.pipeline import Function, Pipeline, ReductionVar, Stage
from spaces.model.amounts import amount
from spaces.model.expressions import functions as fn
from spaces.model.expressions.expr import Call, Const, Expr, Op, Variable, constant
from spaces.model.expressions.rewrite import rewrite, substitute
from spaces.model.expressions.types import Int32
from spaces.model.formulas.simplify import Simplifier
from spaces.model.schedules.derivations import RFactor
from spaces.model.schedules.domain_order import DomainOrder, Fuse, OrderedLoop, Split, Tail
from spaces.model.schedules.reductions.accumulation import (
    TUPLE_ACCUMULATIONS,
    Accumulation,
    accumulation,
)
from spaces.model.schedules.reductions.associative import ASSOCIATIVE
from spaces.model.schedules.refusal import Refusal


def factored(pipeline: Pipeline, step: RFactor) -> Pipeline:
    """``pipeline`` with the intermediate Func, and the update reading it.

    Raises:
        Refusal: the update cannot be factored so.
    """
    function = _subject(pipeline, step)
    found = accumulation(function, step.update + 1)
    if found is None:
        raise Refusal(
            "derive.operator",
            step,
            f"{step} reduces partial results, but {function.name}.update({step.update}) is not "
            f"{function.name}(...) = {function.name}(...) op ... with the same coordinates on both "
            f"sides and an operator known to be associative ({', '.join(ASSOCIATIVE)}; of several "
            f"values of a Tuple {TUPLE_ACCUMULATIONS}).",
            "Write the update so, or compute the partial results as a Func.",
        )
    walks = _Walks(step, function)
    _check_preserved(step, function, walks)
    if found.order:
        _check_order(step, walks, found)
    kept = tuple(leaf for leaf in walks.leaves.values() if leaf.name in dict(step.preserved))
    merging = _merging(function, step, found, kept)
    stages = (*function.stages[: step.update + 1], merging, *function.stages[step.update + 2 :])
    functions = list(pipeline.functions)
    place = functions.index(function)
    partial = _partial(function, step, found, walks)
    functions[place : place + 1] = [partial, evolve(function, stages=stages)]
    return evolve(pipeline, functions=tuple(functions))


def _partial(function: Function, step: RFactor, found: Accumulation, walks: _Walks) -> Function:
    """The Func of partial results."""
    stage = function.stages[step.update + 1]
    vars = {loop: Variable(Int32, var) for loop, var in step.preserved}
    new = tuple(vars[loop] for loop in walks.leaves if loop in vars)
    rest = tuple(leaf for leaf in walks.leaves.values() if leaf.name not in vars)
    values = {name: substitute(value, vars) for name, value in walks.values.items()}

    def change(node: Expr) -> Expr:
        if isinstance(node, Variable):
            return values.get(node.name, node)
        if isinstance(node, Call) and node.target == function.name:
            return Call(node.type, step.name, (*node.args, *new), node.component)
        return node

    own = tuple(Variable(Int32, name) for name in function.args)
    places = tuple(_as_place(rewrite(arg, change), vars) for arg in stage.args)
    beyond = tuple(substitute(p, vars) for p in walks.predicates)
    update = Stage(
        (*places, *new),
        tuple(rewrite(v, change) for v in stage.values),
        rest,
        (*beyond, *(rewrite(p, change) for p in stage.predicates)),
    )
    args = (*function.args, *(var.name for var in new))
    return Function(
        step.name, args, function.types, (Stage((*own, *new), found.identities), update)
    )


def _merging(
    function: Function, step: RFactor, found: Accumulation, kept: tuple[ReductionVar, ...]
) -> Stage:
    """The update that reduces the partial results."""
    own = tuple(Variable(Int32, name) for name in function.args)
    at = (*own, *(Variable(Int32, rvar.name) for rvar in kept))
    values = list(zip(function.types, function.components, strict=True))
    now = tuple(Call(t, function.name, own, c) for t, c in values)
    following = tuple(Call(t, step.name, at, c) for t, c in values)
    return Stage(own, found.combined(now, following), kept)


@frozen
class FactoredOrders:
    """The domain orders of a factored update: of the intermediate Func and of the merging stage."""

    partial: DomainOrder
    merging: DomainOrder


def factored_orders(function: Function, step: RFactor, order: DomainOrder) -> FactoredOrders:
    """The domain orders of the two updates that ``rfactor`` makes of an update with ``order``.

    Both keep the loops over Vars. Vars that the update has no loop for are outermost in the stage
    that merges partial results.
    """
    stage = function.stages[step.update + 1]
    vars = dict(step.preserved)
    reduced = _Walks(step, function).leaves.keys() - vars
    others, _ = parted_splits(stage, order)
    partial = tuple(
        OrderedLoop(vars[loop.name]) if loop.name in vars else loop for loop in order.loops
    )
    missing = [name for name in function.args if name not in stage.pure_vars]
    kept = (loop for loop in order.loops if loop.name not in reduced)
    merging = (*(OrderedLoop(name) for name in reversed(missing)), *kept)
    return FactoredOrders(DomainOrder(others, partial), DomainOrder(others, merging))


SplitRecords: TypeAlias = tuple[Split | Fuse, ...]


def parted_splits(stage: Stage, order: DomainOrder) -> tuple[SplitRecords, SplitRecords]:
    """The splits and fuses of a stage: those of Vars alone, and those that involve RVars."""
    reduced = {rvar.name for rvar in stage.rvars}
    of_vars: list[Split | Fuse] = []
    of_rvars: list[Split | Fuse] = []
    for record in order.splits:
        if not reduced.isdisjoint(record.taken):
            reduced = reduced.difference(record.taken).union(record.made)
            of_rvars.append(record)
        else:
            of_vars.append(record)
    return tuple(of_vars), tuple(of_rvars)


def _subject(pipeline: Pipeline, step: RFactor) -> Function:
    """The Func that is factored; it has the update."""
    known = {f.name: f for f in pipeline.functions}
    if step.func not in known:
        message = f"{step} names {step.func!r}, but there is no such Func to derive from."
        raise Refusal("derive.unknown-func", step, message, f"There are {', '.join(known)}.")
    function = known[step.func]
    updates = len(function.stages) - 1
    if not 0 <= step.update < updates:
        raise Refusal(
            "derive.update",
            step,
            f"{step} factors an update that {step.func} has not: it has "
            f"{amount(updates, 'update stage')}.",
            "Name one that there is.",
        )
    return function


@define
class _Walks:
    """The RVars of a stage as its splits and fuses walk them.

    Attributes:
        leaves: the loops that are left, by name, innermost first.
        values: each RVar in terms of them.
        predicates: where the loops stay within the ranges of the RVars.
    """

    step: RFactor
    function: Function
    leaves: dict[str, ReductionVar] = field(init=False)
    values: dict[str, Expr] = field(init=False)
    predicates: tuple[Expr, ...] = field(init=False, default=())

    def __attrs_post_init__(self) -> None:
        rvars = self.function.stages[self.step.update + 1].rvars
        self.leaves = {rvar.name: rvar for rvar in rvars}
        self.values = {rvar.name: Variable(Int32, rvar.name) for rvar in rvars}
        for record in self.step.splits:
            if isinstance(record, Split):
                self._split(record)
            else:
                self._fuse(record)

    def _split(self, record: Split) -> None:
        old = self._leaf(record.old)
        factor, zero = self._factor(record), constant(0, Int32)
        simplify = Simplifier()
        outer = ReductionVar(record.outer, zero, simplify((old.extent + factor - 1) / factor))
        inner = ReductionVar(record.inner, zero, factor)
        walked: Expr = Variable(Int32, record.outer) * factor + Variable(Int32, record.inner)
        extra = () if simplify(old.extent % factor) is zero else (walked < old.extent,)
        if extra:
            # Iterations of the last tile beyond the end are left out, and read nothing beyond it.
            walked = fn.min(walked, old.extent - 1)
        self._replace({record.old: (inner, outer)}, {record.old: walked + old.min})
        self.predicates += extra

    def _factor(self, record: Split) -> Expr:
        whole = isinstance(record.factor, int) and record.factor > 0
        if whole and record.tail in (Tail.AUTO, Tail.GUARD_WITH_IF, Tail.PREDICATE):
            return constant(int(record.factor), Int32)
        tail = "" if record.tail is Tail.AUTO else f" with the tail {record.tail}"
        raise Refusal(
            "derive.split",
            self.step,
            f"{self.step} takes a split of {record.old} by {record.factor}{tail}, which leaves "
            "nothing to reduce over.",
            "Split by a positive number, with a tail that guards or none.",
        )

    def _fuse(self, record: Fuse) -> None:
        inner, outer = self._leaf(record.inner), self._leaf(record.outer)
        simplify = Simplifier()
        extent = simplify(inner.extent * outer.extent)
        fused = Variable(Int32, record.fused)
        self._replace(
            {
                record.inner: (ReductionVar(record.fused, constant(0, Int32), extent),),
                record.outer: (),
            },
            {
                record.inner: fused % inner.extent + inner.min,
                record.outer: fused / inner.extent + outer.min,
            },
        )

    def _leaf(self, name: str) -> ReductionVar:
        if name in self.leaves:
            return self.leaves[name]
        raise _not_factored(self.step, name, self.leaves)

    def _replace(self, loops: dict[str, tuple[ReductionVar, ...]], values: dict[str, Expr]) -> None:
        found = [new for name, leaf in self.leaves.items() for new in loops.get(name, (leaf,))]
        names = [leaf.name for leaf in found]
        for name in names:
            if names.count(name) > 1 or name in self.function.args:
                raise _not_new(self.step, f"a loop {name}")
        self.leaves = {leaf.name: leaf for leaf in found}
        simplify = Simplifier()
        self.values = {
            name: simplify(substitute(value, values)) for name, value in self.values.items()
        }
        self.predicates = tuple(simplify(substitute(p, values)) for p in self.predicates)


def _not_factored(step: RFactor, loop: str, leaves: dict[str, ReductionVar]) -> Refusal:
    legal = ", ".join(leaves)
    return Refusal(
        "derive.factored-loop",
        step,
        f"{step} names {loop}, but that is no loop of {step.func}.update({step.update}) that walks "
        "RVars only.",
        f"Its loops over RVars are {legal}." if legal else "It has no RVars; leave this out.",
    )


def _check_preserved(step: RFactor, function: Function, walks: _Walks) -> None:
    for loop, _ in step.preserved:
        if loop not in walks.leaves:
            raise _not_factored(step, loop, walks.leaves)
    taken = [*function.args, *walks.leaves]
    loops, vars = [loop for loop, _ in step.preserved], [var for _, var in step.preserved]
    for index, (loop, var) in enumerate(step.preserved):
        if var in taken or var in vars[:index] or loop in loops[:index]:
            raise _not_new(step, f"{loop} {var}")


def _check_order(step: RFactor, walks: _Walks, found: Accumulation) -> None:
    """Checks that partial results keep the order of the values and that none is empty."""
    preserved = {loop for loop, _ in step.preserved}
    outermost = list(walks.leaves)[len(walks.leaves) - len(preserved) :]
    if any(isinstance(record, Fuse) for record in step.splits) or preserved != set(outermost):
        raise Refusal(
            "derive.order",
            step,
            f"{step} takes values in another order, but {step.func}.update({step.update}) "
            f"{found.order}.",
            f"Factor outermost loops, without fusing any; they are {', '.join(walks.leaves)}, "
            "innermost first.",
        )

    reduced = [leaf for leaf in walks.leaves.values() if leaf.name not in preserved]
    stage = walks.function.stages[step.update + 1]
    some = not (walks.predicates or stage.predicates)
    if found.of_some and not (some and all(_is_positive(leaf.extent) for leaf in reduced)):
        raise Refusal(
            "derive.order",
            step,
            f"{step} may reduce nothing, but {step.func}.update({step.update}) {found.order}, and "
            "would take the result of nothing for another one.",
            "Give the RDom extents that are numbers and no predicates, and split it evenly.",
        )


def _is_positive(extent: Expr) -> bool:
    return isinstance(extent, Const) and extent.value > 0


def _not_new(step: RFactor, what: str) -> Refusal:
    return Refusal(
        "derive.new-var",
        step,
        f"{step} calls {what} in {step.name}, where a loop or Var is called so already or twice.",
        "Name every loop once, and every Var anew.",
    )


def _as_place(arg: Expr, vars: dict[str, Variable]) -> Expr:
    """A left-hand coordinate; a new Var stands alone at its own place only."""
    if any(arg is var for var in vars.values()):
        return Op(arg.type, "add", (arg, constant(0, arg.type)))
    return arg
