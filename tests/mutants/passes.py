"""A bug in each pass of the CPU road, and in how lanes find their places."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

_DRAWN = (
    "test_passes_on_drawn_programs.py",
    "test_passes_on_drawn_schedules.py",
)

PASSES = (
    Mutant(
        "loop-of-one-begins-at-zero",
        "_Simplification._loop",
        "bind(loop.body, loop.var, low)",
        "bind(loop.body, loop.var, constant(0, Int32))",
        "A loop of one iteration is taken to run at 0.",
        _DRAWN,
    ),
    Mutant(
        "folds-take-what-is-next",
        "_SEVERAL_OPTIONAL",
        "None if part is None else next(given)",
        "next(given)",
        "A dimension without a fold takes the expression of another.",
        ("test_node.py",),
    ),
    Mutant(
        "parts-of-odd-shape-are-none",
        "derived",
        "other.name not in shaped and re.search(rf'\\b{held}\\b', str(other.type))",
        "other.name in shaped and re.search(rf'\\b{held} \\b', str(other.type))",
        "Walks pass over expressions in a field of a new shape.",
        ("test_node.py",),
    ),
    Mutant(
        "steady-state-ends-with-the-loop",
        "_Partitioning._split",
        "fn.min(_smallest(decisions.highs) + 1, end)",
        "end",
        "The steady state runs on to the end of its loop.",
        _DRAWN,
    ),
    Mutant(
        "last-copy-left-out",
        "_unrolled",
        "int(statement.extent.value)",
        "max(1, int(statement.extent.value) - 1)",
        "An unrolled loop lacks its last iteration.",
        _DRAWN,
    ),
    Mutant(
        "woven-from-the-wrong-end",
        "_place",
        "part * lanes + element - starts[part]",
        "part * lanes + (element - starts[part]) // 2",
        "Lanes of dense loads are picked from places of others.",
        _DRAWN,
    ),
    Mutant(
        "masks-left-out",
        "_Lanes._store",
        "self.mask",
        "None",
        "Vectors are stored whole where a guard cuts them.",
        _DRAWN,
    ),
    Mutant(
        "fold-counted-from-the-beginning",
        "Layout.index",
        "(arg, fold)",
        "(arg - low, fold + 1)",
        "A folded dimension has one place more than it has memory for.",
        _DRAWN,
    ),
    Mutant(
        "tasks-see-no-updated-buffers",
        "_outlined",
        "free_buffers(statement.body)",
        "free_buffers(statement.body)[1:]",
        "A task is not handed one of the buffers that it uses.",
        _DRAWN,
    ),
    Mutant(
        "lanes-times-strides-in-32-bits",
        "scaled",
        """
        match term:
            case Ramp(base=Const(value=0), stride=stride) if not isinstance(stride, Const):
                ...
            case Op(name="mul", args=[Broadcast(value=scale), varying]):
                ...
            case Op(name="mul", args=[varying, Broadcast(value=scale)]):
                ...
        """,
        """
        match term:
            case Ramp(base=Const(value=0), stride=stride) if not isinstance(stride, Const):
                ...
            case Op(name="mul", args=[Broadcast(value=scale), varying]):
                ...
            case Op(name="div", args=[varying, Broadcast(value=scale)]):
                ...
        """,
        "A lane's coordinate times a stride wraps.",
        ("test_far_rows.py",),
    ),
)
