"""Expressions as a table of nodes, so that what is shared in memory is shared in a document."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

from attrs import define, field

from spaces.model.expressions.definitions import LANGUAGE, fits
from spaces.model.expressions.expr import Call, Cast, Const, Expr, Op, Text, Variable, walk
from spaces.model.expressions.types import SCALAR_TYPES, Int32, Type


class NodeError(ValueError):
    """A node of a document is not an expression. The message is a sentence; the caller adds the
    place.
    """


def parse_type(text: object) -> Type:
    """The type that ``str`` of a type prints, ``uint8`` or ``float32x4``.

    Raises:
        NodeError: there is no such type.
    """
    found = re.fullmatch(r"(bool|[a-z]+[0-9]+)(?:x([0-9]{1,4}))?", str(text))
    if found is None or found[1] not in SCALAR_TYPES:
        raise NodeError(f"{text!r} is not an element type; those are {', '.join(SCALAR_TYPES)}.")
    return SCALAR_TYPES[found[1]].with_lanes(int(found[2] or 1))


@define
class NodeTable:
    """Nodes of one document, operands before the expressions that use them."""

    nodes: list[dict[str, Any]] = field(factory=list)
    _index: dict[Expr, int] = field(factory=dict)

    def index(self, expr: Expr) -> int:
        """The number of ``expr``; adds it and its operands if they are new.

        Raises:
            NodeError: it has a node that only exists while a pipeline is being defined.
        """
        for node in walk(expr):
            if node not in self._index:
                self.nodes.append(self._record(node))
                self._index[node] = len(self._index)
        return self._index[expr]

    def _record(self, node: Expr) -> dict[str, Any]:
        if type(node) not in (Const, Variable, Op, Cast, Call, Text):
            raise NodeError(
                f"`{node}` is part of a definition; freeze it by pipeline(...) before writing it."
            )
        record: dict[str, Any] = {"type": str(node.type)}
        match node:
            case Const(value=value):
                finite = isinstance(value, int) or math.isfinite(value)
                record["const"] = value if finite else repr(value)
            case Variable(name=name):
                record["var"] = name
            case Text(words=words):
                record["text"] = words
            case Cast(value=value):
                record["cast"] = self._index[value]
            case Op(name=name, args=args):
                record |= {"op": name, "args": [self._index[a] for a in args]}
            case Call(target=target, args=args, component=component):
                record |= {"call": target, "args": [self._index[a] for a in args]}
                if component is not None:
                    record["component"] = component
        return record


def read_nodes(records: object) -> list[Expr]:
    """The expressions of a table.

    Raises:
        NodeError: a record is no expression; the message tells its number.
    """
    if not isinstance(records, list):
        raise NodeError("nodes must be a list.")
    exprs: list[Expr] = []
    for number, record in enumerate(records):
        try:
            exprs.append(_expr(record, exprs))
        except NodeError as error:
            raise NodeError(f"Node {number}: {error}") from None
    return exprs


_KEYS = {"const": {"const"}, "var": {"var"}, "text": {"text"}, "cast": {"cast"}} | {
    kind: {kind, "args"} for kind in ("op", "call")
}


def _expr(record: object, known: list[Expr]) -> Expr:
    if not isinstance(record, Mapping):
        raise NodeError("it must be an object.")
    kind = next((k for k in _KEYS if k in record), None)
    optional = {"component"} if kind == "call" else set()
    if kind is None or set(record) - optional != _KEYS[kind] | {"type"}:
        raise NodeError(
            "it must have a type and one of const, var, text, cast, op with args, call with args."
        )
    type_ = parse_type(record["type"])
    what = record[kind]
    if kind == "const":
        return Const(type_, _value(what, type_))
    if kind == "cast":
        return Cast(type_, _operand(what, known))
    if not isinstance(what, str):
        raise NodeError(f"{kind} must be a name.")
    if kind == "var":
        return Variable(type_, what)
    if kind == "text":
        return Text(type_, what)
    if not isinstance(record["args"], list):
        raise NodeError("args must be a list.")
    args = tuple(_operand(a, known) for a in record["args"])
    if kind == "op":
        _check_operator(what, type_, args)
        return Op(type_, what, args)
    if any(a.type != Int32 for a in args):
        raise NodeError(f"the coordinates of {what} must be int32.")
    return Call(type_, what, args, _component(record.get("component")))


def _component(number: object) -> int | None:
    if number is None or (isinstance(number, int) and number >= 0 and number is not True):
        return number
    raise NodeError(f"its component {number!r} must be a number from 0.")


def _operand(number: object, known: list[Expr]) -> Expr:
    if not isinstance(number, int) or isinstance(number, bool) or not 0 <= number < len(known):
        raise NodeError(f"its operand {number!r} must be the number of an earlier node.")
    return known[number]


def _value(value: object, type_: Type) -> int | float:
    if type_.is_float:
        if value in ("inf", "-inf", "nan") or (
            isinstance(value, int | float) and not isinstance(value, bool)
        ):
            return float(str(value))
    elif isinstance(value, int) and type_.holds(int(value)):
        return int(value)
    raise NodeError(f"{value!r} is not a value of {type_}.")


def _check_operator(name: str, result: Type, args: tuple[Expr, ...]) -> None:
    """Operands must be as the functions that build expressions make them."""
    if name not in LANGUAGE:
        raise NodeError(f"{name!r} is not an operator; those are {', '.join(LANGUAGE)}.")
    types = tuple(a.type for a in args)
    if not fits(name, result, types):
        given = ", ".join(map(str, types))
        raise NodeError(f"{name} of ({given}) does not give {result}.")
