"""Halide's expressions as expressions of this library."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial

from attrs import define, field, frozen

from spaces.backend.halide.file import nodes
from spaces.backend.halide.incoming.operators import (
    BINARY,
    EXTERNS,
    INTRINSICS,
    INTRINSICS_OF_CONDITIONS,
    STRICT,
    WITHOUT_COUNTERPART,
    OperatorMaker,
    operation,
)
from spaces.backend.halide.incoming.problems import Problems, Unsupported
from spaces.model.algorithm.require import require
from spaces.model.algorithm.undefined import undef
from spaces.model.expressions.definition_error import DefinitionError
from spaces.model.expressions.expr import Cast, Expr, Op, constant
from spaces.model.expressions.operators import COMPARISONS, LOGIC
from spaces.model.expressions.types import SCALAR_TYPES, Bool, Int32, Type

_SIZE = re.compile(r"(.*)\.(min|extent|stride)\.(\d+)")

_CODES = {"Int": "int", "UInt": "uint", "Float": "float"}


def element_type(given: nodes.TypeTable | None) -> Type:
    """The element type of a value.

    Raises:
        Unsupported: this library has no such type.
    """
    if given is None:
        raise Unsupported("a value has no type.")
    name = (
        "bool"
        if (given.code, given.bits) == ("UInt", 1)
        else f"{_CODES.get(given.code)}{given.bits}"
    )
    if given.lanes != 1 or name not in SCALAR_TYPES:
        raise Unsupported(f"values of type {given} have no counterpart; there are "
                          f"{', '.join(SCALAR_TYPES)}.")  # fmt: skip
    return SCALAR_TYPES[name]


@frozen
class Surroundings:
    """What expressions of one pipeline refer to.

    Attributes:
        scalar: the value of a Param, by its name in Halide; None if there is no such Param.
        size: a size of an image or output: the name of the array in Halide, ``"min"`` or
            ``"extent"``, and the dimension. None if there is no such array.
        image: the value of an image at coordinates, by its name in Halide.
        value: the value of a Func at coordinates: its name in Halide, its place in the file (-1 if
            unknown), and the component.
    """

    scalar: Callable[[str], Expr | None]
    size: Callable[[str, str, int], Expr | None]
    image: Callable[[str, Sequence[Expr]], Expr]
    value: Callable[[str, int, int, Sequence[Expr]], Expr]


@define
class IncomingExpressions:
    """Converts the expressions of one pipeline, and collects what has no counterpart."""

    around: Surroundings
    problems: Problems

    def __call__(self, root: nodes.HalideNode | None, loops: Mapping[str, Expr]) -> Expr:
        """An expression; ``loops`` are the Vars and RVars by their names in Halide. What has no
        counterpart becomes a problem, and 0.
        """
        return _Conversion(self.around, self.problems, loops, INTRINSICS).run(root)

    def condition(self, root: nodes.HalideNode | None, loops: Mapping[str, Expr]) -> Expr:
        """The condition under which an update stores values, likewise."""
        return _Conversion(self.around, self.problems, loops, INTRINSICS_OF_CONDITIONS).run(root)


@define
class _Conversion:
    """One expression on its way. There is no recursion, for expressions may be deep.

    Attributes:
        todo: what is left to do, the next one last: nodes to convert, and steps that take their
            operands from the end of ``done``.
        bound: what Lets around the present node bind, the innermost last.
    """

    around: Surroundings
    problems: Problems
    loops: Mapping[str, Expr]
    intrinsics: Mapping[str, OperatorMaker]
    done: list[Expr] = field(init=False, factory=list)
    todo: list[nodes.HalideNode | Callable[[], None] | None] = field(init=False, factory=list)
    bound: dict[str, list[Expr]] = field(init=False, factory=dict)

    def run(self, root: nodes.HalideNode | None) -> Expr:
        self.todo.append(root)
        while self.todo:
            item = self.todo.pop()
            if isinstance(item, nodes.LetNode):
                self.todo += [partial(self._bind, item), item.value]
            elif isinstance(item, nodes.HalideNode) or item is None:
                operands, finish = self._parts(item)
                self.todo += [finish, *reversed(operands)]
            else:
                item()
        return self.done.pop()

    def _bind(self, let: nodes.LetNode) -> None:
        self.bound.setdefault(let.name, []).append(self.done.pop())
        self.todo += [partial(self._release, let.name), let.body]

    def _release(self, name: str) -> None:
        self.bound[name].pop()

    def _parts(
        self, node: nodes.HalideNode | None
    ) -> tuple[Sequence[nodes.HalideNode | None], Callable[[], None]]:
        """The operands of a node, and the step that makes an expression of them."""
        make: Callable[[Sequence[Expr]], Expr]
        match node:
            case nodes.CallNode(name="require", args=(condition, value, message)):
                words = message_parts(message)
                values = [part for part in words if not isinstance(part, str)]
                operands: Sequence[nodes.HalideNode | None] = (condition, value, *values)
                make = partial(_required, words)
            case _:
                operands = _operands(node)
                make = partial(self._node, node)
        return operands, partial(self._finish, node, len(operands), make)

    def _finish(
        self, node: nodes.HalideNode | None, count: int, make: Callable[[Sequence[Expr]], Expr]
    ) -> None:
        first = len(self.done) - count
        operands = self.done[first:]
        del self.done[first:]
        try:
            made = make(operands)
        except (Unsupported, DefinitionError, TypeError, OverflowError) as error:
            self.problems.add(str(error))
            made = _placeholder(node, operands)
        self.done.append(made)

    def _node(self, node: nodes.HalideNode | None, operands: Sequence[Expr]) -> Expr:
        match node:
            case nodes.IntImmNode(value=number) | nodes.UIntImmNode(value=number):
                return constant(number, element_type(node.type))
            case nodes.FloatImmNode(value=real):
                return constant(real, element_type(node.type))
            case nodes.VariableNode():
                return self._variable(node)
            case nodes.CastNode():
                to = element_type(node.type)
                return operands[0] if operands[0].type == to else Cast(to, operands[0])
            case nodes.ReinterpretNode():
                to = element_type(node.type)
                is_same = operands[0].type == to
                return operands[0] if is_same else operation("reinterpret", to, operands)
            case nodes.BinaryNode():
                name = BINARY[type(node)]
                is_test = name in (*COMPARISONS, *LOGIC)
                return operation(name, Bool if is_test else operands[0].type, operands)
            case nodes.NotNode():
                return operation("not", Bool, operands)
            case nodes.SelectNode():
                return operation("select", operands[1].type, operands)
            case nodes.CallNode():
                return self._call(node, operands)
            case nodes.StringImmNode(value=words):
                raise Unsupported(f"the text {words[:40]!r} stands where a value is expected.")
            case None:
                raise Unsupported("an expression is missing.")
            case _:
                raise Unsupported(
                    f"a {type(node).__name__} has no counterpart; only programs that Halide has "
                    "lowered have it."
                )

    def _variable(self, node: nodes.VariableNode) -> Expr:
        if self.bound.get(node.name):
            return self.bound[node.name][-1]
        array = node.param_name or node.image_name
        if not array:
            if node.name not in self.loops:
                raise Unsupported(f"the variable {node.name} is unknown there.")
            return self.loops[node.name]
        found = self.around.scalar(node.name)
        if found is not None:
            if node.type is not None and found.type != element_type(node.type):
                raise Unsupported(f"several Params are called {node.name}; give each its own name.")
            return found
        size = _SIZE.fullmatch(node.name)
        if size is None:
            raise Unsupported(f"{node.name} is neither a Param nor a size of an image.")
        if size[2] == "stride":
            raise Unsupported(f"{node.name}: strides are not values here; use the sizes.")
        found = self.around.size(array, size[2], int(size[3]))
        if found is None:
            raise Unsupported(f"{node.name} is the size of no image and no output.")
        return found

    def _call(self, node: nodes.CallNode, operands: Sequence[Expr]) -> Expr:
        if node.call_type == "Halide":
            return self.around.value(node.name, node.func_index, node.value_index, operands)
        if node.call_type == "Image":
            return self.around.image(node.param_name or node.image_name, operands)
        to = element_type(node.type)
        if node.name == "undef":
            return undef(to)
        is_intrinsic = node.call_type in ("Intrinsic", "PureIntrinsic")
        made = (self.intrinsics if is_intrinsic else EXTERNS).get(node.name)
        if made is None:
            known = WITHOUT_COUNTERPART.get(node.name, f"the intrinsic {node.name}")
            raise Unsupported(
                f"{known} has no counterpart here."
                if is_intrinsic
                else f"the function {node.name} is foreign code, which cannot come in."
            )
        if node.name in STRICT:
            self.problems.note("strict_float holds where code is compiled in float mode strict.")
        return made(to, operands)


def _required(words: Sequence[str | nodes.HalideNode], operands: Sequence[Expr]) -> Expr:
    """A value that a condition guards. Halide's message begins with the value itself."""
    condition, value, *values = operands
    shown = iter(values)
    parts = [part if isinstance(part, str) else next(shown) for part in words]
    return require(without_hint(condition), value, *parts[1:])


def _placeholder(node: nodes.HalideNode | None, operands: Sequence[Expr]) -> Expr:
    """What stands in for a part that cannot come in, so that the rest can be looked at."""
    try:
        return constant(0, element_type(getattr(node, "type", None)))
    except Unsupported:
        return constant(0, operands[-1].type if operands else Int32)


def _operands(node: nodes.HalideNode | None) -> tuple[nodes.HalideNode | None, ...]:
    match node:
        case nodes.BinaryNode(a=a, b=b):
            return (a, b)
        case nodes.CastNode(value=value) | nodes.ReinterpretNode(value=value):
            return (value,)
        case nodes.NotNode(a=a):
            return (a,)
        case nodes.SelectNode(condition=condition, true_value=yes, false_value=no):
            return (condition, yes, no)
        case nodes.CallNode(name="return_second", args=(_, value)):  # the first one prints
            return (value,)
        case nodes.CallNode(name=name, args=args) if name not in ("print", "stringify"):
            return args
        case _:
            return ()


def without_hint(condition: Expr) -> Expr:
    """A condition without Halide's hint that it usually holds."""
    if isinstance(condition, Op) and condition.name == "likely":
        return condition.args[0]
    return condition


def message_parts(message: nodes.HalideNode | None) -> list[str | nodes.HalideNode]:
    """The words and values of the message of a requirement, without the spaces between."""
    match message:
        case nodes.CallNode(args=(_, nodes.CallNode(name="stringify", args=args))):
            parts: list[str | nodes.HalideNode] = []
            for one in args:
                if not isinstance(one, nodes.StringImmNode):
                    parts += [] if one is None else [one]
                elif one.value.strip():
                    parts.append(one.value.strip())
            return parts
    return []
