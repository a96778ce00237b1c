"""Bugs in counts, ranks and shards of spaces."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

_CANDIDATES = ("test_candidates.py", "test_space.py")
_LIMITS = ("process/test_limits.py",)
_DERIVING = ("process/test_deriving.py",)
_POSITIONS = ("test_positions.py",)

COUNTS = (
    Mutant(
        "related-factors-counted-apart",
        "_components",
        "found.append(joined)",
        "found.extend(map(frozenset, joined))",
        "The numbers of choices that a condition relates multiply.",
        ("test_lattice.py",),
    ),
    Mutant(
        "conditions-without-factors-not-asked",
        "legal_count",
        "(frozenset[str](), *groups)",
        "groups",
        "A family that no size allows is counted.",
        ("test_lattice.py",),
    ),
    Mutant(
        "guides-share-no-stages",
        "_guided",
        "None if callee in kids else index",
        "index",
        "A Func that two stages of its guide read may be inside the loops of one of them.",
        _CANDIDATES,
    ),
    Mutant(
        "given-levels-have-no-name",
        "FuncMenu.loops",
        "level if level in self.named else None",
        "None",
        "A given level is not found among loops of its kind.",
        _CANDIDATES,
    ),
    Mutant(
        "levels-part-grids",
        "path_form:levels_of",
        "form.is_open and not parted",
        "form.is_open",
        "A candidate is computed between two loops of one grid.",
        _CANDIDATES,
    ),
    Mutant(
        "amounts-of-parted-grids",
        "path_form:totals",
        "not one.parts_grid",
        "True",
        "Counts have places between two loops of one grid.",
        _CANDIDATES,
    ),
    Mutant(
        "stores-cross-parallel-loops",
        "PathForm.__attrs_post_init__",
        "1 if self.kind.is_concurrent else outer.stores + 1",
        "outer.stores + 1",
        "A candidate is stored outside a loop in parallel that computes it.",
        _CANDIDATES,
    ),
    Mutant(
        "fused-loops-are-pairs-without-order",
        "fuses",
        "math.comb(2 * before - after, before)",
        "math.comb(2 * before - after, before) // 2",
        "The limit has one of the two ways to fuse two loops.",
        _LIMITS,
    ),
    Mutant(
        "tiles-stand-anywhere",
        "split_shares",
        "Fraction(1, inner + 1)",
        "1",
        "The limit of experts' loops has orders that the process has not.",
        _LIMITS,
    ),
    Mutant(
        "one-alignment-of-fused-loops",
        "FuncLimits._companions",
        "aligned**depth",
        "aligned",
        "The limit gives all fused loops one alignment.",
        ("process/test_fusing.py", *_LIMITS),
    ),
    Mutant(
        "one-wrapper-each",
        "Added._chain",
        "1 + options * ways",
        "1 + options",
        "The limit leaves out wrappers of wrappers.",
        _DERIVING,
    ),
    Mutant(
        "clones-have-their-producers",
        "Added._clone",
        "1 + self._sets_with_one(name) * self._clone(name, longest - 1)",
        "1",
        "The limit leaves out clones of the producers of clones.",
        _DERIVING,
    ),
    Mutant(
        "one-factorization-each",
        "Added._factored",
        "partial * self._factored(one.again)",
        "partial",
        "The limit leaves out factored reductions of partial results.",
        _DERIVING,
    ),
    Mutant(
        "specializations-in-one-order",
        "_specialized",
        "math.perm(conditions, number)",
        "math.comb(conditions, number)",
        "The order in which conditions are tested does not count.",
        _LIMITS,
    ),
    Mutant(
        "ranks-within-structures",
        "Positions.ranking",
        "self._ends[number] + self._legal_before(structure, index)",
        "self._legal_before(structure, index)",
        "Schedules of unlike structures have one rank.",
        _POSITIONS,
    ),
    Mutant(
        "interrupted-iterations-end",
        "Positions._judge",
        "self._rest = None",
        "pass",
        "A space has no more schedules after an interruption.",
        _POSITIONS,
    ),
    Mutant(
        "shards-overlap",
        "ScheduleSpace.shard",
        "itertools.islice(self._promising(), number, None, of)",
        "itertools.islice(self._promising(), number, None)",
        "Two machines measure the same schedules.",
        _POSITIONS,
    ),
    Mutant(
        "illegal-ones-are-unknown",
        "ScheduleSpace.bounds",
        "candidates - illegal",
        "candidates",
        "What is judged illegal still counts as possible.",
        _POSITIONS,
    ),
)
