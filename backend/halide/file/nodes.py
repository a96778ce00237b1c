"""Halide's expressions, as a file keeps them; and the assertions of a pipeline.

The fields are the slots of Halide's tables, in order (``src/halide_ir.fbs`` of Halide 18 to 21). A
node keeps Halide's names: the class is the kind of the node. Nodes compare by identity, for a tree
may be deep.
"""

from __future__ import annotations

from attrs import frozen

from spaces.backend.halide.file import wire

CODES = ("Int", "UInt", "Float", "Handle", "BFloat")

CALLS = (
    "Image",
    "Extern",
    "ExternCPlusPlus",
    "PureExtern",
    "Halide",
    "Intrinsic",
    "PureIntrinsic",
)


@frozen
class TypeTable:
    """An element type: ``UInt`` of one bit is the boolean."""

    code: str = wire.choice(*CODES)
    bits: int = wire.number(wire.BYTE)
    lanes: int = wire.number()

    def __str__(self) -> str:
        name = f"{self.code.lower()}{self.bits}"
        return name if self.lanes == 1 else f"{name}x{self.lanes}"


class HalideNode:
    """An expression."""

    __slots__ = ()


def _kinds() -> tuple[type[HalideNode] | None, ...]:
    return EXPRESSIONS


@frozen(eq=False)
class IntImmNode(HalideNode):
    """A signed literal."""

    value: int = wire.number(wire.INT64)
    type: TypeTable | None = wire.table(lambda: TypeTable)


@frozen(eq=False)
class UIntImmNode(HalideNode):
    """An unsigned literal."""

    value: int = wire.number(wire.UINT64)
    type: TypeTable | None = wire.table(lambda: TypeTable)


@frozen(eq=False)
class FloatImmNode(HalideNode):
    """A literal of a float type."""

    value: float = wire.number(wire.FLOAT64, 0.0)
    type: TypeTable | None = wire.table(lambda: TypeTable)


@frozen(eq=False)
class StringImmNode(HalideNode):
    """A text."""

    value: str = wire.text()


@frozen(eq=False)
class CastNode(HalideNode):
    """A conversion of a value."""

    value: HalideNode | None = wire.union(_kinds)
    type: TypeTable | None = wire.table(lambda: TypeTable)


@frozen(eq=False)
class ReinterpretNode(HalideNode):
    """The bits of a value, as another type."""

    value: HalideNode | None = wire.union(_kinds)
    type: TypeTable | None = wire.table(lambda: TypeTable)


@frozen(eq=False)
class BinaryNode(HalideNode):
    """The base of operators between two operands."""

    a: HalideNode | None = wire.union(_kinds)
    b: HalideNode | None = wire.union(_kinds)


class AddNode(BinaryNode):
    """The sum."""


class SubNode(BinaryNode):
    """The difference."""


class MulNode(BinaryNode):
    """The product."""


class DivNode(BinaryNode):
    """The quotient; of integers, rounded so that the remainder is not negative."""


class ModNode(BinaryNode):
    """The remainder, never negative."""


class MinNode(BinaryNode):
    """The smaller one."""


class MaxNode(BinaryNode):
    """The larger one."""


class EQNode(BinaryNode):
    """Equal."""


class NENode(BinaryNode):
    """Not equal."""


class LTNode(BinaryNode):
    """Less."""


class LENode(BinaryNode):
    """Less or equal."""


class GTNode(BinaryNode):
    """Greater."""


class GENode(BinaryNode):
    """Greater or equal."""


class AndNode(BinaryNode):
    """Both conditions."""


class OrNode(BinaryNode):
    """Either condition."""


@frozen(eq=False)
class NotNode(HalideNode):
    """The opposite of a condition."""

    a: HalideNode | None = wire.union(_kinds)


@frozen(eq=False)
class SelectNode(HalideNode):
    """One of two values, by a condition."""

    condition: HalideNode | None = wire.union(_kinds)
    true_value: HalideNode | None = wire.union(_kinds)
    false_value: HalideNode | None = wire.union(_kinds)


@frozen(eq=False)
class LoadNode(HalideNode):
    """A read of memory; only lowered programs have it. Its operands are not kept."""

    name: str = wire.text()


@frozen(eq=False)
class RampNode(HalideNode):
    """A vector of equal steps; only lowered programs have it. Its operands are not kept."""


@frozen(eq=False)
class BroadcastNode(HalideNode):
    """A vector of one value; only lowered programs have it. Its operands are not kept."""


@frozen(eq=False)
class LetNode(HalideNode):
    """``body``, in which ``name`` stands for ``value``."""

    name: str = wire.text()
    value: HalideNode | None = wire.union(_kinds)
    body: HalideNode | None = wire.union(_kinds)


@frozen(eq=False)
class CallNode(HalideNode):
    """A value of a Func, an image or a function.

    Attributes:
        func_index: the place of the Func among all Funcs of the file; -1 for none.
        value_index: which value of a Func with several.
        image_name: the name of an array inside the file.
        param_name: the name of the ImageParam.
    """

    name: str = wire.text()
    args: tuple[HalideNode | None, ...] = wire.unions(_kinds)
    call_type: str = wire.choice(*CALLS)
    func_index: int = wire.number()
    value_index: int = wire.number()
    image_name: str = wire.text()
    param_name: str = wire.text()
    type: TypeTable | None = wire.table(lambda: TypeTable)


@frozen(eq=False)
class DomainTable:
    """Whether a variable is one of a reduction domain. The stage of the Func tells which."""

    defined: bool = wire.flag()


@frozen(eq=False)
class VariableNode(HalideNode):
    """A Var, an RVar, a Param, a size, or what a Let binds."""

    name: str = wire.text()
    type: TypeTable | None = wire.table(lambda: TypeTable)
    param_name: str = wire.text()
    image_name: str = wire.text()
    reduction_domain: DomainTable | None = wire.table(lambda: DomainTable)


@frozen(eq=False)
class ShuffleNode(HalideNode):
    """A vector of lanes of others; only lowered programs have it. Its operands are not kept."""


@frozen(eq=False)
class VectorReduceNode(HalideNode):
    """Lanes reduced to fewer; only lowered programs have it. Its operands are not kept."""


EXPRESSIONS: tuple[type[HalideNode] | None, ...] = (
    *(None, IntImmNode, UIntImmNode, FloatImmNode, StringImmNode, CastNode, ReinterpretNode),
    *(
        AddNode,
        SubNode,
        MulNode,
        DivNode,
        ModNode,
        MinNode,
        MaxNode,
        EQNode,
        NENode,
        LTNode,
        LENode,
        GTNode,
        GENode,
        AndNode,
        OrNode,
        NotNode,
        SelectNode,
    ),
    *(
        LoadNode,
        RampNode,
        BroadcastNode,
        LetNode,
        CallNode,
        VariableNode,
        ShuffleNode,
        VectorReduceNode,
        None,
    ),
)
"""The classes by their numbers in Halide's union; the first and the last stand for nothing."""


@frozen(eq=False)
class AssertNode:
    """A requirement of a pipeline."""

    condition: HalideNode | None = wire.union(_kinds)
    message: HalideNode | None = wire.union(_kinds)


@frozen(eq=False)
class StatementNode:
    """A statement of a lowered program. Its parts are not kept."""


STATEMENTS: tuple[type[AssertNode | StatementNode] | None, ...] = (
    *(None, StatementNode, AssertNode, *(StatementNode,) * 15, None),
)
"""The classes by their numbers in Halide's union of 18 statements."""
