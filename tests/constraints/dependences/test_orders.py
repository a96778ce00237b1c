"""Domain orders on names: the loops that result, and the order of reductions."""

import pytest

from spaces import DomainOrder, Fuse, OrderedLoop, Split, Tail, device, schedule, verify
from spaces.constraints.dependences.iterations import Ordering
from spaces.constraints.dependences.orders import trace
from spaces.constraints.examples import algorithms

STAGE = algorithms.horner().function("s").stages[1]
ORDERED = Ordering(("r.y", "r.x"), frozenset({("r.y", "r.x")}))


def traced(*splits, loops=()):
    order = DomainOrder(tuple(splits), tuple(OrderedLoop(name) for name in loops))
    return trace(STAGE, order, ORDERED)


def test_origins_follow_splits_and_fuses():
    result = traced(
        Split("x", "x", "xi", 8),
        Fuse("xi", "y", "t"),
        Split("r.x", "ro", "ri", 2),
        loops=("t", "x", "r.y", "ro", "ri"),
    )
    assert result.faults == ()
    assert result.origins == {
        "x": {"x"},
        "t": {"x", "y"},
        "r.y": {"r.y"},
        "ro": {"r.x"},
        "ri": {"r.x"},
    }
    assert result.sequence == ("r.y", "ro", "ri")


@pytest.mark.parametrize(
    ("splits", "sequence", "faults"),
    [
        ((Fuse("r.x", "r.y", "t"),), ("t",), []),
        ((Fuse("r.y", "r.x", "t"),), ("t",), ["fuse-order"]),
        ((Fuse("x", "r.x", "t"),), ("r.y", "t"), []),
        ((Fuse("r.y", "x", "t"),), ("t", "r.x"), []),
        ((Split("r.y", "a", "b", 2), Fuse("r.x", "b", "t")), ("a", "t"), []),
        ((Split("r.y", "a", "b", 2), Fuse("r.x", "a", "t")), ("t", "b"), ["fuse-order"]),
        ((Split("r.x", "a", "r.x", 2), Split("r.x", "b", "c", 2)), ("r.y", "a", "b", "c"), []),
    ],
)
def test_sequence_of_dependent_loops(splits, sequence, faults):
    result = traced(*splits, loops=())
    assert result.sequence == sequence
    assert [f.kind for f in result.faults if f.kind != "missing"] == faults


@pytest.mark.parametrize(
    ("splits", "names", "misplaced"),
    [
        ((), ("r.y", "x", "r.x"), None),
        ((), ("r.x", "x", "r.y"), ("r.x", "r.y")),
        ((Fuse("x", "r.x", "t"),), ("t", "r.y"), ("t", "r.y")),
        ((Fuse("r.y", "x", "t"),), ("r.x", "t"), ("r.x", "t")),
        ((Split("r.y", "a", "b", 2),), ("b", "a", "r.x"), ("b", "a")),
        ((Split("r.y", "a", "b", 2),), ("a", "r.x", "b"), ("r.x", "b")),
        ((Split("r.x", "a", "b", 2),), ("r.y", "a", "x", "b"), None),
        ((Split("r.y", "a", "b", 2), Fuse("r.x", "b", "t")), ("t", "a"), ("t", "a")),
    ],
)
def test_loops_that_are_outside_of_those_they_depend_on(splits, names, misplaced):
    assert traced(*splits).misplaced(names) == misplaced


@pytest.mark.parametrize(
    ("splits", "loops", "faults"),
    [
        ((), ("y", "x", "r.y", "r.x"), []),
        ((), ("y", "r.y", "r.x"), [("missing", "x")]),
        ((), ("y", "x", "x", "r.y", "r.x"), [("repeated", "x")]),
        ((), ("y", "x", "z", "r.y", "r.x"), [("unknown", "z")]),
        ((Split("z", "a", "b", 2),), ("y", "x", "r.y", "r.x", "a", "b"), [("unknown", "z")]),
        ((Split("x", "y", "xi", 2),), ("y", "xi", "r.y", "r.x"), [("duplicate", "y")]),
        ((Split("x", "a", "a", 2),), ("y", "a", "r.y", "r.x"), [("duplicate", "a")]),
        ((Fuse("x", "x", "t"),), ("y", "t", "r.y", "r.x"), [("repeated", "x")]),
        ((Fuse("x", "y", "y"),), ("y", "r.y", "r.x"), []),
    ],
)
def test_faults_of_names(splits, loops, faults):
    assert [(f.kind, f.loop) for f in traced(*splits, loops=loops).faults] == faults


def test_fusing_a_reduction_in_swapped_order_is_refused():
    """Halide accepts it, and computes other values."""
    pipeline = algorithms.horner()
    s = schedule(pipeline).func("s").update(0)
    swapped = verify(pipeline, s.fuse("r.y", "r.x", "t").schedule, device("cpu"))
    assert [v.rule for v in swapped.violations] == ["order.reduction"]
    assert verify(pipeline, s.fuse("r.x", "r.y", "t").schedule, device("cpu"))


def test_sums_may_be_reordered_unless_they_are_of_floats():
    for pipeline, func, legal in (
        (algorithms.total(), "s", True),
        (algorithms.float_total(), "s", False),
    ):
        s = schedule(pipeline).func(func).update(0).reorder("r.y", "r.x")
        assert verify(pipeline, s.schedule, device("cpu")).legal is legal


_NOT_OVER_RVARS = [t for t in Tail if t not in (Tail.AUTO, Tail.GUARD_WITH_IF, Tail.PREDICATE)]


@pytest.mark.parametrize("tail", list(Tail))
@pytest.mark.parametrize(
    ("stage", "loop", "refused"),
    [
        (0, "x", []),
        (0, "xi", ["predicate_loads"]),
        (0, "shifted", ["predicate_loads"]),
        (1, "x", ["shift_inwards"]),
        (1, "r.x", _NOT_OVER_RVARS),
        (1, "ri", _NOT_OVER_RVARS),
        (1, "t", _NOT_OVER_RVARS),
    ],
)
def test_tails(stage, loop, refused, tail):
    """A split of an update must not apply it twice, nor where the RDom does not reach."""
    pipeline = algorithms.total()
    s = schedule(pipeline).func("s").compute_root()
    s = s.split("x", "x", "xi", 7) if loop == "xi" else s
    s = s.split("x", "shifted", "xi", 7) if loop == "shifted" else s
    if stage:
        s = s.update(0).split("r.x", "ro", "ri", 2) if loop == "ri" else s.update(0)
        s = s.fuse("r.y", "y", "t") if loop == "t" else s
    verdict = verify(pipeline, s.split(loop, "outer", "inner", 3, tail).schedule, device("cpu"))
    expected = ["order.tail"] if tail in refused else []
    assert [v.rule for v in verdict.violations] == expected
