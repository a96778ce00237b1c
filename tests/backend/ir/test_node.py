"""Each kind of node gives its parts, and can be rebuilt from other parts in the same order."""

from operator import is_
from typing import get_args

import pytest
from attrs import frozen

from spaces import Bool, Expr, Int32, LoopKind, MemoryType
from spaces.backend.ir import statements
from spaces.backend.ir.host import (
    DeviceFunction,
    GlobalArray,
    HostBlock,
    HostIf,
    HostLoop,
    HostNode,
    HostPart,
    Launch,
)
from spaces.backend.ir.node import Node, map_children, walk_nodes
from spaces.backend.ir.statements import (
    EMPTY,
    Allocate,
    Assert,
    Barrier,
    Block,
    BufferDimension,
    For,
    If,
    Invoke,
    ParallelFor,
    Prefetch,
    Provide,
    Recall,
    Store,
    Timed,
    TupleAssignment,
)
from spaces.backend.ir.walk import map_all, map_own
from spaces.model.expressions.expr import Variable, constant
from spaces.model.expressions.message import Message

A, B, C, D, E, F, G, X = (Variable(Int32, name) for name in "abcdefgx")
TRUE = constant(True, Bool)
STORE, OTHER = Store("f", A, B), Store("f", C, D)

STATEMENTS = (
    (Block((STORE, OTHER)), (STORE, OTHER), ()),
    (For(X, A, B, LoopKind.SERIAL, STORE), (STORE,), (A, B)),
    (ParallelFor(X, A, B, (A,), ("f",), STORE), (STORE,), (A, B)),
    (Timed("f", 4, STORE), (STORE,), ()),
    (
        Allocate(
            buffer="f",
            type=Int32,
            memory=MemoryType.AUTO,
            sizes=(A,),
            body=STORE,
            mins=(B,),
            extents=(C,),
            folds=(None, D),
            dimensions=(BufferDimension(E, F, G),),
        ),
        (STORE,),
        (A, B, C, D, E, F, G),
    ),
    (Provide("f", (A, B), C), (), (A, B, C)),
    (Store("f", A, B, mask=TRUE), (), (A, B, TRUE)),
    (STORE, (), (A, B)),
    (TupleAssignment((STORE, OTHER)), (STORE, OTHER), ()),
    (If(TRUE, STORE), (STORE,), (TRUE,)),
    (If(TRUE, STORE, OTHER), (STORE, OTHER), (TRUE,)),
    (Assert(Message(("at ", ""), (Int32,)), (A,)), (), (A,)),
    (Prefetch("f", (A, B)), (), (A, B)),
    (Recall(b"", (A, B), ("f",), (Int32,), (C,), STORE), (STORE,), (A, B, C)),
    (Invoke("code", ("f",), (Int32,), (1,), 1, (A,), (B,), (C,)), (), (A, B, C)),
    (Barrier(), (), ()),
)

KERNEL = DeviceFunction("k", (A, B, C), (1, 1, 1), (), EMPTY)
LAUNCH, PART = Launch(KERNEL), HostPart("p", STORE)
HOST = (
    (HostBlock((LAUNCH, PART)), (LAUNCH, PART), ()),
    (HostLoop(X, A, B, LAUNCH), (LAUNCH,), (A, B)),
    (HostIf(TRUE, LAUNCH), (LAUNCH,), (TRUE,)),
    (GlobalArray("f", Int32, (A, B), LAUNCH), (LAUNCH,), (A, B)),
    (LAUNCH, (), ()),
    (PART, (), ()),
)

kind = lambda case: type(case).__name__ if not isinstance(case, tuple) else ""  # noqa: E731


@pytest.mark.parametrize(
    ("node", "children"), [(node, children) for node, children, _ in (*STATEMENTS, *HOST)], ids=kind
)
def test_children_are_given_and_replaced(node, children):
    assert node.children == children
    assert list(walk_nodes(node)) == [node, *children]
    replaced = {id(child): LAUNCH if child is PART else STORE for child in children}
    changed = map_children(node, lambda child: replaced[id(child)])
    assert changed.children == tuple(replaced[id(child)] for child in children)
    assert type(changed) is type(node)
    assert map_children(node, lambda child: child) is node


@pytest.mark.parametrize(("node", "children", "expressions"), [*STATEMENTS, *HOST], ids=kind)
def test_own_expressions_are_given_and_replaced(node, children, expressions):
    assert len(node.expressions) == len(expressions)
    assert all(map(is_, node.expressions, expressions))
    new = tuple(Variable(e.type, f"new{n}") for n, e in enumerate(expressions))
    by_old = dict(zip(expressions, new, strict=True))
    changed = map_own(node, lambda e: by_old[e])
    assert all(map(is_, changed.expressions, new))
    assert changed.children == children
    assert map_own(node, lambda e: e) is node


def test_every_kind_of_node_is_tested():
    tested = {type(node).__name__ for node, *_ in (*STATEMENTS, *HOST)}
    assert tested == {*statements.Statement.split(" | "), *(k.__name__ for k in get_args(HostNode))}


def test_parts_in_a_field_of_an_unknown_shape_are_an_error():
    with pytest.raises(TypeError, match=r"Odd.values holds Expr as list\[Expr\]"):

        @frozen
        class Odd(Node["Odd"]):
            called = "Odd"
            values: "list[Expr]"


def test_blocks_of_changed_statements_have_no_blocks_inside():
    twice = map_children(Block((STORE, OTHER)), lambda s: Block((s, s)))
    assert twice == Block((STORE, STORE, OTHER, OTHER))
    assert map_all(Block((STORE, OTHER)), lambda e: A) == Block((Store("f", A, A),) * 2)
