"""A bug in each pass of the CPU road, and in how lanes find their places."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

_DRAWN = (
    "tests/backend/test_passes_on_drawn_programs.py",
    "tests/backend/test_passes_on_drawn_schedules.py",
)

PASSES = (
    Mutant(
        "loop-of-one-begins-at-zero",
        "backend/lowering/simplify.py",
        "return self.statement(bind(loop.body, loop.var, low))",
        "return self.statement(bind(loop.body, loop.var, constant(0, Int32)))",
        "A loop of one iteration is taken to run at 0.",
        _DRAWN,
    ),
    Mutant(
        "steady-state-ends-with-the-loop",
        "backend/lowering/cpu/partition.py",
        "last = self.known(fn.max(fn.min(_smallest(decisions.highs) + 1, end), first))",
        "last = self.known(fn.max(end, first))",
        "The steady state runs on to the end of its loop.",
        _DRAWN,
    ),
    Mutant(
        "last-copy-left-out",
        "backend/lowering/cpu/unroll.py",
        "for i in range(int(statement.extent.value)))",
        "for i in range(max(1, int(statement.extent.value) - 1)))",
        "An unrolled loop lacks its last iteration.",
        _DRAWN,
    ),
    Mutant(
        "woven-from-the-wrong-end",
        "backend/lowering/cpu/interleave.py",
        "return part * lanes + element - starts[part]",
        "return part * lanes + (element - starts[part]) // 2",
        "Lanes of dense loads are picked from places of others.",
        _DRAWN,
    ),
    Mutant(
        "masks-left-out",
        "backend/lowering/cpu/vectorize.py",
        "return Store(store.buffer, index, self.widen.full(value), self.mask)",
        "return Store(store.buffer, index, self.widen.full(value), None)",
        "Vectors are stored whole where a guard cuts them.",
        _DRAWN,
    ),
    Mutant(
        "fold-counted-from-the-beginning",
        "backend/lowering/flatten.py",
        'arg = Op(Int32, "mod", (arg, fold))',
        'arg = Op(Int32, "mod", (arg - low, fold + 1))',
        "A folded dimension has one place more than it has memory for.",
        _DRAWN,
    ),
    Mutant(
        "tasks-see-no-updated-buffers",
        "backend/lowering/cpu/parallel.py",
        "buffers=free_buffers(statement.body),",
        "buffers=free_buffers(statement.body)[1:],",
        "A task is not handed one of the buffers that it uses.",
        _DRAWN,
    ),
    Mutant(
        "lanes-times-strides-in-32-bits",
        "backend/llvm/indices.py",
        'case Op(name="mul", args=(varying, Broadcast(value=scale))):',
        'case Op(name="div", args=(varying, Broadcast(value=scale))):',
        "A lane's coordinate times a stride wraps.",
        ("tests/backend/test_far_rows.py",),
    ),
)
