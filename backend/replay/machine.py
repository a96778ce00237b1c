"""Runs the statements of a loop program one by one, and reports wrong accesses.

Each concurrent iteration is a task with its own loop variables and allocations.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from typing import Any, TypeAlias

from attrs import define, field

from spaces.backend.ir.sizes import elements
from spaces.backend.ir.statements import (
    Allocate,
    Barrier,
    Block,
    For,
    If,
    Provide,
    Statement,
    Store,
    TupleAssignment,
)
from spaces.backend.replay.formulas import ScalarFormula
from spaces.backend.replay.memory import Iterations, Picture, ReplayBuffer, WrongAccess
from spaces.backend.replay.orders import Order, TaskSteps, in_turns, scheduled
from spaces.backend.replay.report import Action, Coordinate, Fault, FaultKind
from spaces.model.expressions.expr import Expr, Op, constant
from spaces.model.expressions.types import Type
from spaces.model.schedules.domain_order import LoopKind

MOST_WORK = 4_000_000
"""The most nodes of expressions that one order evaluates; this takes some seconds."""

_ALIKE = 2
"""The most faults of one kind, at one buffer, that a replay reports."""


_Found: TypeAlias = Callable[[str, Coordinate, WrongAccess, Any], None]
"""Takes a wrong read: the buffer, the coordinate, the finding, and the value."""


class TooMuchWorkError(Exception):
    """A run takes too long."""


@define
class Frame:
    """The view of a task: its loop variables, the buffers, and the concurrent iterations around
    it.
    """

    loops: dict[str, int]
    buffers: dict[str, Picture | ReplayBuffer]
    path: Iterations = ()

    def task(self, loop: int, variables: Mapping[str, int], iteration: str) -> Frame:
        """The view of one iteration of a concurrent loop."""
        path = (*self.path, (loop, iteration))
        return Frame({**self.loops, **variables}, dict(self.buffers), path)


@define
class Machine:
    """One run.

    Attributes:
        constants: sizes, strides and parameters.
        order: the order in which concurrent iterations take their steps.
        faults: the faults so far.
    """

    constants: Mapping[str, Any]
    order: Order
    faults: list[Fault] = field(factory=list)
    _formulas: dict[Expr, ScalarFormula] = field(factory=dict)
    _work: int = 0
    _loops: int = 0

    def run(self, statement: Statement, frame: Frame) -> TaskSteps:
        """The steps of a statement."""
        match statement:
            case Block(body=body):
                for inner in body:
                    yield from self.run(inner, frame)
            case For():
                yield from self._loop(statement, frame)
            case If(condition=condition, otherwise=otherwise):
                if self.value(condition, frame):
                    yield from self.run(statement.body, frame)
                elif otherwise is not None:
                    yield from self.run(otherwise, frame)
            case Allocate(buffer=name):
                hidden = frame.buffers.get(name)
                frame.buffers[name] = self.storage(statement, frame)
                yield from self.run(statement.body, frame)
                del frame.buffers[name]
                if hidden is not None:
                    frame.buffers[name] = hidden
            case Provide() | Store() if statement.update is not None:
                yield from self._update(_stored(statement), statement.update.operator, frame)
            case Provide() | Store():
                yield from self._write([_stored(statement)], frame)
            case TupleAssignment(body=parts):
                yield from self._write([_stored(part) for part in parts], frame)
            case Barrier():
                yield statement
            case _:
                raise TypeError(f"{type(statement).__name__} is not a statement of a replay.")

    def value(self, expr: Expr, frame: Frame) -> Any:
        """The value of an expression, with its reads checked.

        Raises:
            TooMuchWorkError: the run has done too much work.
        """

        def found(name: str, at: Coordinate, finding: WrongAccess, value: Any) -> None:
            self.report("read", name, at, finding, frame, value)

        return self._evaluated(expr, frame, found)

    def _stored_value(
        self, own: Set[str], expr: Expr, frame: Frame
    ) -> tuple[Any, WrongAccess | None]:
        """A value to store in one of the buffers ``own``. If it depends on elements of these
        buffers that were never computed, also the fault of one such read. An update may do so
        outside of the required region: this is a fault only if something else reads the value.
        """
        unset: list[WrongAccess] = []

        def found(name: str, at: Coordinate, finding: WrongAccess, value: Any) -> None:
            if name in own and finding.kind is FaultKind.UNWRITTEN:
                unset.append(finding)
            else:
                self.report("read", name, at, finding, frame, value)

        value = self._evaluated(expr, frame, found)
        return value, unset[0] if unset else None

    def _evaluated(self, expr: Expr, frame: Frame, found: _Found) -> Any:
        formula = self._formulas.get(expr)
        if formula is None:
            formula = self._formulas[expr] = ScalarFormula(expr)
        self._work += formula.cost
        if self._work > MOST_WORK:
            raise TooMuchWorkError

        def lookup(name: str) -> Any:
            return frame.loops[name] if name in frame.loops else self.constants[name]

        def access(name: str, at: Coordinate, type: Type) -> Any:
            value, finding = frame.buffers[name].read(at, frame.path)
            if finding is not None:
                found(name, at, finding, value)
            return value

        return formula.value(lookup, access)

    def concurrently(
        self,
        tasks: Iterable[tuple[Mapping[str, int], str]],
        body: Callable[[Frame], TaskSteps],
        frame: Frame,
    ) -> TaskSteps:
        """The steps of ``body`` in concurrent iterations. Each task is given by its variables, and
        by words that name it.
        """
        loop = self.next_loop()
        frames = [frame.task(loop, variables, words) for variables, words in tasks]
        yield from scheduled([body(each) for each in frames], self.order)

    def next_loop(self) -> int:
        """A number for one execution of a concurrent loop."""
        self._loops += 1
        return self._loops

    def storage(self, node: Allocate, frame: Frame) -> ReplayBuffer:
        """The memory of an allocation."""
        if not node.extents:  # flat memory, or a Func without dimensions
            total = elements(node.sizes, lambda size: self.value(size, frame))
            return ReplayBuffer(node.buffer, node.type, ((0, total),), (None,))
        mins = [self.value(e, frame) for e in node.mins]
        extents = [self.value(e, frame) for e in node.extents]
        folds = [None if e is None else self.value(e, frame) for e in node.folds]
        return ReplayBuffer(node.buffer, node.type, tuple(zip(mins, extents, strict=True)), folds)

    def report(
        self,
        access: Action,
        buffer: str,
        at: Coordinate,
        finding: WrongAccess,
        frame: Frame,
        obtained: Any = None,
    ) -> None:
        """Notes a fault, unless enough similar faults are known."""
        kind = (finding.kind, access, buffer)
        if sum((f.kind, f.access, f.buffer) == kind for f in self.faults) < _ALIKE:
            iteration = dict(frame.loops)
            self.faults.append(
                Fault(finding.kind, access, buffer, at, iteration, finding.detail, obtained)
            )

    def _loop(self, loop: For, frame: Frame) -> TaskSteps:
        name = loop.var.name
        low, extent = self.value(loop.min, frame), self.value(loop.extent, frame)
        iterations = range(low, low + extent)
        if not loop.kind.is_concurrent:
            for i in iterations:
                frame.loops[name] = i
                yield from self.run(loop.body, frame)
            frame.loops.pop(name, None)
            return
        if extent > MOST_WORK:
            raise TooMuchWorkError
        if loop.kind is LoopKind.VECTORIZED:
            lanes = [
                Frame({**frame.loops, name: i}, dict(frame.buffers), frame.path) for i in iterations
            ]
            yield from in_turns([self.run(loop.body, lane) for lane in lanes])
            return
        tasks = [({name: i}, f"{name} = {i}") for i in iterations]
        yield from self.concurrently(tasks, lambda task: self.run(loop.body, task), frame)

    def _write(self, stores: Sequence[_Stored], frame: Frame) -> TaskSteps:
        """Stores values; all of them are evaluated before."""
        own = {name for name, _, _ in stores}
        ready = [
            (
                name,
                tuple(self.value(a, frame) for a in args),
                *self._stored_value(own, value, frame),
            )
            for name, args, value in stores
        ]
        yield None
        for name, at, new, unset in ready:
            finding = frame.buffers[name].write(at, new, frame.path, unset)
            if finding is not None:
                self.report("write", name, at, finding, frame, new)
            yield None

    def _update(self, stored: _Stored, operator: str, frame: Frame) -> TaskSteps:
        """Changes an element in one atomic step. Concurrent updates of the same element take turns,
        so they are not reported as races.
        """
        name, args, operand = stored
        at = tuple(self.value(a, frame) for a in args)
        value = self.value(operand, frame)
        yield None
        now, finding = frame.buffers[name].read(at, ())
        unset = finding if finding and finding.kind is FaultKind.UNWRITTEN else None
        if finding is not None and unset is None:
            self.report("read", name, at, finding, frame, now)
        parts = (constant(now, operand.type), constant(value, operand.type))
        new = self.value(Op(operand.type, operator, parts), frame)
        finding = frame.buffers[name].write(at, new, (), unset)
        if finding is not None:
            self.report("write", name, at, finding, frame, new)
        yield None


_Stored: TypeAlias = tuple[str, tuple[Expr, ...], Expr]
"""A buffer, the coordinates of an element, and its new value."""


def _stored(statement: Provide | Store) -> _Stored:
    if isinstance(statement, Provide):
        return statement.func, statement.args, statement.value
    return statement.buffer, (statement.index,), statement.value
