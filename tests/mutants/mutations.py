"""Small changes of a function, of the sort that people make: a comparison, a sign, the end of a
range, a forgotten case.
"""

from __future__ import annotations

import ast
import copy
from collections import Counter
from collections.abc import Iterator
from functools import partial

from tests.mutants.bug import Bug
from tests.mutants.definitions import Definition

Change = tuple[str, ast.AST | None]
"""What a change does, in words, and the node that stands in the place; without one the statement is
left out.
"""

_COMPARISONS: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
}
_OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.FloorDiv,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.FloorDiv,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
}
_FUNCTIONS = {"min": "max", "max": "min", "any": "all", "all": "any", "floor": "ceil"}

_NOT_ASKED = {"__repr__", "__str__", "__rich__", "_repr_pretty_", "_repr_html_", "_card", "__dir__"}
"""Functions that print, where a change is seldom a mistake."""


def mutations(definition: Definition) -> tuple[Bug, ...]:
    """All small changes of a function, in the order of its lines.

    Messages, annotations, decorators, assertions and what `zip` asserts stay: what they say is not
    what a function computes. A method that only prints has none.
    """
    function = definition.node
    if not isinstance(function, ast.FunctionDef) or function.name in _NOT_ASKED:
        return ()
    found: list[Bug] = []
    times: Counter[str] = Counter()
    for statement, node in _nodes(function):
        for why, new in _changes(node):
            name = f"{definition.module}:{definition.name}: {_said(node)}: {why}"
            times[name] += 1
            name += f" ({times[name]})" if times[name] > 1 else ""
            change = partial(_with, function, node, new)
            found.append(Bug(name, definition, change, _span(statement), why))
    return tuple(found)


def _nodes(function: ast.FunctionDef) -> Iterator[tuple[ast.stmt, ast.expr | ast.stmt]]:
    """Expressions and statements that a change may be in, with the statement around each."""
    waiting: list[tuple[ast.stmt, ast.AST]] = [(function, function)]
    while waiting:
        statement, node = waiting.pop()
        around = node if isinstance(node, ast.stmt) else statement
        if isinstance(node, ast.expr | ast.stmt) and node is not function:
            yield around, node
        waiting.extend((around, inner) for inner in reversed(list(_inner(node))))


def _span(statement: ast.stmt) -> range:
    """The lines of a statement, without those of the statements in it."""
    last = statement.end_lineno or statement.lineno
    body: list[ast.stmt] = getattr(statement, "body", [])
    if body:
        last = max(statement.lineno, body[0].lineno - 1)
    return range(statement.lineno, last + 1)


def _documented(function: ast.FunctionDef) -> int:
    return int(ast.get_docstring(function, clean=False) is not None)


def _inner(node: ast.AST) -> Iterator[ast.AST]:
    match node:
        case ast.Raise() | ast.Assert() | ast.JoinedStr() | ast.keyword("strict"):
            return
        case ast.AnnAssign():
            yield from (part for part in (node.target, node.value) if part is not None)
        case ast.FunctionDef():
            yield from node.body[_documented(node) :]
        case _:
            yield from ast.iter_child_nodes(node)


def _changes(node: ast.expr | ast.stmt) -> Iterator[Change]:
    match node:
        case ast.Compare():
            yield from _comparisons(node)
        case ast.BoolOp(op, values):
            other = ast.Or() if isinstance(op, ast.And) else ast.And()
            yield f"`{'or' if isinstance(op, ast.And) else 'and'}`", ast.BoolOp(other, values)
        case ast.UnaryOp(ast.Not() | ast.USub(), operand):
            yield "without its sign", operand
        case ast.BinOp(left, op, right) if type(op) in _OPERATORS:
            changed = ast.BinOp(left, _OPERATORS[type(op)](), right)
            yield f"`{ast.unparse(changed)}`", changed
        case ast.Constant(bool() as value):
            yield f"`{not value}`", ast.Constant(not value)
        case ast.Constant(int() as value):
            yield f"`{value + 1}`", ast.Constant(value + 1)
        case ast.Call(ast.Name(name), arguments, keywords) if name in _FUNCTIONS:
            other_name = ast.Name(_FUNCTIONS[name], ast.Load())
            yield f"`{other_name.id}`", ast.Call(other_name, arguments, keywords)
        case ast.Call(ast.Name("range"), [*first, last], []) if len(first) < 2:
            shorter = ast.BinOp(last, ast.Sub(), ast.Constant(1))
            yield "one less", ast.Call(node.func, [*first, shorter], [])
        case ast.Call(ast.Name("range"), [first, last, step], []):
            shorter = ast.BinOp(last, ast.Sub(), ast.Constant(1))
            yield "ends earlier", ast.Call(node.func, [first, shorter, step], [])
        case ast.IfExp(_, body, orelse) if _are_words(body, orelse):
            return
        case ast.IfExp(test, body, orelse):
            yield "arms exchanged", ast.IfExp(test, orelse, body)
        case ast.If(test, body, []):
            yield "case forgotten", None
        case ast.If(test, body, orelse):
            yield "case forgotten", ast.If(ast.Constant(False), body, orelse)
        case ast.Expr(ast.Call()) | ast.AugAssign() | ast.Continue() | ast.Break() | ast.Raise():
            yield "left out", None
        case ast.Assign([ast.Attribute() | ast.Subscript()], _):
            yield "left out", None


def _are_words(*nodes: ast.expr) -> bool:
    """Whether all are texts, and some for people to read: with spaces, or with values in them."""
    texts = [node.value for node in nodes if isinstance(node, ast.Constant)]
    filled = sum(isinstance(node, ast.JoinedStr) for node in nodes)
    are_texts = all(isinstance(text, str) for text in texts) and len(texts) + filled == len(nodes)
    return are_texts and (filled > 0 or any(" " in str(text) for text in texts))


def _comparisons(node: ast.Compare) -> Iterator[Change]:
    for place, op in enumerate(node.ops):
        for other in _COMPARISONS[type(op)]:
            ops = [*node.ops[:place], other(), *node.ops[place + 1 :]]
            changed = ast.Compare(node.left, ops, node.comparators)
            yield f"`{ast.unparse(changed)}`", changed


def _with(function: ast.FunctionDef, node: ast.AST, new: ast.AST | None) -> ast.FunctionDef:
    """A copy of the function with another node in place of one of its own."""
    originals: dict[int, object] = {}
    changed = copy.deepcopy(function, originals)
    # Parts of the new node are copied to where the copies of the old ones are.
    replacement = ast.Pass() if new is None else copy.deepcopy(new, originals)
    swapped = _Swap(originals[id(node)], replacement).visit(changed)
    assert isinstance(swapped, ast.FunctionDef)
    return ast.fix_missing_locations(swapped)


class _Swap(ast.NodeTransformer):
    def __init__(self, old: object, new: ast.AST) -> None:
        self._old, self._new = old, new

    def visit(self, node: ast.AST) -> ast.AST:
        if node is self._old:
            return ast.copy_location(self._new, node)
        changed: ast.AST = super().visit(node)
        return changed


def _said(node: ast.AST) -> str:
    """The first line of the code, to print."""
    first, _, rest = ast.unparse(node).partition("\n")
    return f"`{first}{' …' if rest else ''}`"
