"""The smallest and the largest values of the numbers in a kernel.

They follow from the kernel itself and hold in every launch: threads and blocks have their places, a
loop has its iterations, and a call checks the sizes of the caller's buffers. So some arithmetic
certainly stays within int, and some numbers are certainly not negative.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from attrs import define, field

from spaces.backend.cuda.plan import MAX_GRID
from spaces.backend.cuda.sums import is_sum, terms_of
from spaces.backend.ir.host import BLOCK, THREAD, DeviceFunction
from spaces.backend.ir.node import walk_nodes
from spaces.backend.ir.statements import For
from spaces.backend.ir.vectors import Load
from spaces.model.expressions.expr import Const, Expr, Op, Variable, walk
from spaces.model.expressions.operators import COMPARISONS, LOGIC
from spaces.model.expressions.types import Int32, Type
from spaces.model.formulas.corners import CORNERS, Ends
from spaces.model.formulas.widths import MOST_BITS, width

FARTHEST = 1 << 30
"""The largest distance of a coordinate of an image or output from the origin, and its largest
extent. Kernels calculate regions in 32 bits, and regions may reach beyond the computed elements.
"""

_SIZE = re.compile(r"(?P<buffer>[^.]+)\.(?P<part>min|extent|stride)\.(?P<dimension>\d+)")
"""Matches the names of sizes of the caller's buffers, such as ``input.extent.0``."""

_OF_SIZE: Mapping[str, Ends] = {
    "min": (-FARTHEST, FARTHEST),
    "extent": (0, FARTHEST),
    "stride": (0, Int32.max_value),
}

_RING = ("add", "sub", "mul")
"""Operators whose lowest 32 bits depend only on the lowest 32 bits of their operands."""


@define
class NumberEnds:
    """The ends of variables, and what follows for the numbers made of them.

    Attributes:
        variables: the ends of variables by name. Sizes have theirs, too; all other variables have
            any value of their types.
    """

    variables: Mapping[str, Ends]
    _found: dict[Expr, tuple[Ends, bool]] = field(init=False, factory=dict)
    """For each number: its ends where no step of it wraps, and whether it is exact."""

    @staticmethod
    def of(kernel: DeviceFunction) -> NumberEnds:
        """The ends of the variables of a kernel."""
        ends = NumberEnds({})
        found: dict[str, Ends] = {
            p.name: (0, n - 1) for p, n in zip(THREAD, kernel.block, strict=True)
        }
        for place, blocks, most in zip(BLOCK, kernel.grid, MAX_GRID, strict=True):
            found[place.name] = (0, max(min(ends.of_coordinate(blocks)[1], most) - 1, 0))
        ends = NumberEnds(found)
        # Outer loops come before inner ones. Loops of the same name are taken together.
        for loop in (node for node in walk_nodes(kernel.body) if isinstance(node, For)):
            name = loop.var.name
            first, _ = low = ends.of_coordinate(loop.min)
            _, last = ends.of_coordinate(loop.min + loop.extent - 1)
            before = found.get(name, low)
            found[name] = min(first, before[0]), max(low[1], last, before[1])
            ends = NumberEnds(dict(found))
        return ends

    def beside(self, numbers: Mapping[str, Expr]) -> NumberEnds:
        """The same beside variables for some coordinates, by name."""
        more = {name: self.of_coordinate(formula) for name, formula in numbers.items()}
        return NumberEnds({**self.variables, **more})

    def is_exact(self, expr: Expr) -> bool:
        """Whether an expression certainly has the same value in int, where sums and products wrap,
        as without limits.
        """
        return self._ends(expr)[1]

    def wraps_once(self, expr: Expr) -> bool:
        """Whether an expression without loads certainly has the same value in int as if only its
        result wraps, and whoever computes it so needs no huge numbers.
        """
        stack, seen = [expr], set[Expr]()
        while stack:
            node = stack.pop()
            if node in seen or self.is_exact(node):
                continue
            seen.add(node)
            if not (isinstance(node, Op) and node.type is Int32 and node.name in _RING):
                return False
            stack += node.children
        return width(expr) <= MOST_BITS

    def of_coordinate(self, expr: Expr) -> Ends:
        """The ends of a coordinate, in which no step wraps."""
        return self._ends(expr)[0]

    def _ends(self, expr: Expr) -> tuple[Ends, bool]:
        for node in walk(expr, known=self._found):
            self._found[node] = self._node(node)
        return self._found[expr]

    def _node(self, node: Expr) -> tuple[Ends, bool]:
        match node:
            case Const(value=value) if not node.type.is_float:
                return (int(value), int(value)), True
            case Variable(name=name):
                return self._variable(name, node.type), True
            case Load():
                return _any_of(node.type), True
            case Op() if is_sum(node):
                return self._sum(terms_of(node))
            case Op() if node.type is Int32 or node.name in (*COMPARISONS, *LOGIC):
                return self._operator(node)
        return _any_of(node.type), False

    def _variable(self, name: str, type: Type) -> Ends:
        size = _SIZE.fullmatch(name)
        return self.variables.get(name) or (_OF_SIZE[size["part"]] if size else _any_of(type))

    def _operator(self, node: Op) -> tuple[Ends, bool]:
        ends, exact = zip(*(self._found[child] for child in node.children), strict=True)
        if node.name in (*COMPARISONS, *LOGIC):
            return (0, 1), all(exact)
        if node.name == "select":
            return _joined(ends[1], ends[2]), all(exact)
        if node.name == "div":
            return _within_int(_quotient(*ends), all(exact))
        corners = CORNERS.get(node.name)
        found = corners(Int32, *ends) if corners else None
        return (_any_of(Int32), False) if found is None else _within_int(found, all(exact))

    def _sum(self, terms: list[tuple[Expr, int]]) -> tuple[Ends, bool]:
        """The ends of a sum. The end of a buffer lies no farther from the origin than the
        beginning may, so both sizes of a dimension count as one number.
        """
        rest, ends = list(terms), list[Ends]()
        for term, sign in terms:
            begin = _beginning(term), sign
            if begin in rest:
                rest.remove(begin)
                rest.remove((term, sign))
                ends.append((-FARTHEST, FARTHEST))
        for term, sign in rest:
            low, high = self._found[term][0]
            ends.append((low, high) if sign > 0 else (-high, -low))
        found = sum(low for low, _ in ends), sum(high for _, high in ends)
        return _within_int(found, all(self._found[term][1] for term, _ in terms))


def _beginning(term: Expr) -> Expr | None:
    """The size that says where a buffer begins, for the size that says how far it extends."""
    size = _SIZE.fullmatch(term.name) if isinstance(term, Variable) else None
    if size is None or size["part"] != "extent":
        return None
    return Variable(Int32, f"{size['buffer']}.min.{size['dimension']}")


def _within_int(found: Ends, is_exact: bool) -> tuple[Ends, bool]:
    """The ends that int holds, and whether those without limits are the same."""
    low, high = (min(max(end, Int32.min_value), Int32.max_value) for end in found)
    return (low, high), is_exact and (low, high) == found


def _quotient(a: Ends, b: Ends) -> Ends:
    """The ends of a quotient, whose magnitude is at most that of the dividend."""
    found = CORNERS["div"](Int32, a, b)
    if found is not None:
        return found
    most = max(-a[0], a[1])
    return (0, a[1]) if a[0] >= 0 and b[0] >= 0 else (-most, most)


def _joined(a: Ends, b: Ends) -> Ends:
    return min(a[0], b[0]), max(a[1], b[1])


def _any_of(type: Type) -> Ends:
    return type.min_value, type.max_value
