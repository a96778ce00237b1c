"""The work of one evaluation of a stage: its operations, its reads, and where it writes.

It depends on a definition with its inlined producers alone, not on its loops. It is kept as long as
the definition exists.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property, lru_cache

import attrs
from attrs import frozen

from spaces.features.accesses import AffineReader, Index, ReadGroup
from spaces.features.histogram import NO_OPERATIONS, Histogram, histogram
from spaces.model.algorithm.foreign import ForeignCode, foreign_code
from spaces.model.algorithm.pipeline import Stage
from spaces.model.algorithm.undefined import is_nothing
from spaces.model.expressions.definitions import expanded
from spaces.model.expressions.expr import Call, Cast, Const, Op, walk
from spaces.model.expressions.intrinsics import FLOAT_FUNCTIONS
from spaces.model.expressions.types import Float32

_ARITHMETIC = ("add", "sub", "mul", "div", "mod")
DIVISION_BY_LITERAL = 4
"""The instructions of an integer division by a literal: a multiplication and shifts."""


@frozen
class Operations:
    """Operations of one evaluation. A value used twice counts once. A value that is the same in
    every evaluation does not count: it is computed outside all loops.

    Attributes:
        arithmetic: ``+ - * / %`` [TOY].
        math: sin, cos, tan, sqrt, exp, log, pow, floor, ceil [TOY].
        other: comparisons, logic, min, max, select, abs and conversions.
        series: the part of ``math`` that sums a series, on all lanes at once.
        calls: the part of ``math`` that calls a library, for each lane.
        divisions: the part of ``arithmetic`` that divides integers by a value other than a literal.
        fractions: the divisions and square roots of floats.
        instructions: the instructions of all other operations: one each, and four for an integer
            division by a literal, which is a multiplication and shifts.
        bits: the bits of all results together, which a vector unit must produce.
    """

    arithmetic: int
    math: int
    other: int
    series: int
    calls: int
    divisions: int
    fractions: int
    instructions: int
    bits: int

    @property
    def total(self) -> int:
        """All operations."""
        return self.arithmetic + self.math + self.other


@frozen
class Work:
    """One evaluation of a stage.

    Attributes:
        accesses: its reads.
        written: the Vars and RVars that may change where it writes.
        place: where it writes, an index for each dimension.
        parts: its operations, by the Vars and RVars that change their results. So ``cos(x)``, for
            example, need not be computed again in each line.
        is_undefined: whether it leaves all values undefined, so that it takes no time.
        histogram: its operations by kind and type.
        code: the foreign code that computes it, if any.
    """

    accesses: tuple[ReadGroup, ...]
    written: frozenset[str]
    place: tuple[Index, ...]
    parts: tuple[tuple[frozenset[str], Operations], ...]
    is_undefined: bool = False
    histogram: Histogram = NO_OPERATIONS
    code: ForeignCode | None = None

    @cached_property
    def operations(self) -> Operations:
        """All operations of one evaluation."""
        return Operations(
            *(
                sum(getattr(part, a.name) for _, part in self.parts)
                for a in attrs.fields(Operations)
            )
        )

    @cached_property
    def buffers(self) -> tuple[str, ...]:
        """The names of the Funcs and images that the stage reads, each once."""
        return tuple(dict.fromkeys(access.buffer for access in self.accesses))

    def reads(self, buffer: str) -> int:
        """Distinct values of ``buffer`` that one evaluation reads."""
        return sum(access.reads for access in self.accesses if access.buffer == buffer)


@lru_cache(maxsize=4096)
def stage_work(stage: Stage) -> Work:
    """Operations and reads of one evaluation of ``stage``."""
    skipped, code = all(map(is_nothing, stage.values)), foreign_code(stage.values)
    stage = stage.mapped(expanded)
    reader = AffineReader.of(stage)
    nodes = walk(*stage.values, *stage.args, *stage.predicates)
    # The components of a Tuple are one element: one read with the bytes of all components.
    calls = {(n.target, n.args): n for n in nodes if isinstance(n, Call) and n.args}
    groups: dict[frozenset[str], list[Cast | Op]] = {}
    for node in reader.find_computed((*stage.values, *stage.predicates)):
        if isinstance(node, Cast | Op) and reader.moved_by[node]:
            groups.setdefault(reader.moved_by[node], []).append(node)
    parts = tuple((moved_by, _operations(nodes)) for moved_by, nodes in groups.items())
    accesses = reader.group_reads(list(calls.values()), stage.args)
    repeated = [node for nodes in groups.values() for node in nodes]
    found = histogram(repeated, stage.values)
    place = reader.place(stage.args)
    return Work(accesses, reader.movers(stage.args), place, parts, skipped, found, code)


def loads_of_funcs(work: Work, is_image: Mapping[str, bool]) -> int:
    """Reads of stored Funcs in one evaluation: the "intermediate results loaded" of [TOY]."""
    return sum(a.reads for a in work.accesses if not is_image.get(a.buffer, False))


def _operations(nodes: list[Cast | Op]) -> Operations:
    counts = {"arithmetic": 0, "math": 0, "other": 0}
    series = calls = divisions = fractions = instructions = bits = 0
    for node in nodes:
        group = "other" if isinstance(node, Cast) else _group(node.name)
        counts[group] += 1
        bits += max(8, node.type.bits, *(child.type.bits for child in node.children))
        if isinstance(node, Op) and group == "math" and node.name != "sqrt":
            function = FLOAT_FUNCTIONS[node.name]
            has_series = function.has_series and node.type == Float32
            series += has_series
            calls += function.llvm is None and not has_series
            instructions += function.llvm is not None
        elif isinstance(node, Op) and node.type.is_float and node.name in ("div", "sqrt"):
            fractions += 1
        elif isinstance(node, Op) and _divides_integers(node):
            is_literal = isinstance(node.args[1], Const)
            divisions += not is_literal
            instructions += DIVISION_BY_LITERAL if is_literal else 0
        else:
            instructions += 1
    return Operations(
        **counts,
        series=series,
        calls=calls,
        divisions=divisions,
        fractions=fractions,
        instructions=instructions,
        bits=bits,
    )


def _divides_integers(node: Op) -> bool:
    return node.name in ("div", "mod") and not node.type.is_float


def _group(name: str) -> str:
    if name in _ARITHMETIC:
        return "arithmetic"
    return "math" if name in FLOAT_FUNCTIONS else "other"
