"""Bugs in where barriers stand."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

_TESTS = (
    "test_barriers_of_programs.py",
    "test_gpu_barriers.py",
    "test_gpu_schedules.py",
    "test_gpu_random.py",
)

MUTANTS = (
    Mutant(
        "reads-never-wait",
        "_Accesses.conflict",
        "later.read | later.written",
        "later.written",
        "What is written and then read needs no barrier: only writes are compared with writes.",
        _TESTS,
    ),
    Mutant(
        "overwriting-never-waits",
        "_Accesses.conflict",
        "_meet(self.written, later.read | later.written) or _meet(self.read, later.written)",
        "_meet(self.written, later.read | later.written)",
        "What is still read may be overwritten.",
        _TESTS,
    ),
    Mutant(
        "rewriting-never-waits",
        "_Accesses.conflict",
        "later.read | later.written",
        "later.read",
        "Two parts that write one buffer need no barrier between them.",
        _TESTS,
    ),
    Mutant(
        "loop-carried-barrier-forgotten",
        "_Inserter._rounds",
        "entry | after == entry",
        "entry | after != entry or True",
        "What one round of a loop accesses is not held against the next round.",
        _TESTS,
    ),
    Mutant(
        "only-others-conflict-inverted",
        "_meet",
        "who != other",
        "who == other",
        "Threads wait for their own accesses, not for those of others.",
        _TESTS,
    ),
    Mutant(
        "guarded-accesses-forgotten",
        "_Inserter.visit",
        "before | after",
        "before",
        "What is accessed under a guard is not held against what follows.",
        _TESTS,
    ),
    Mutant(
        "guard-clears-accesses",
        "_Inserter.visit",
        "before | after",
        "after",
        "A barrier under a guard counts for what was accessed before the guard.",
        _TESTS,
    ),
    Mutant(
        "updates-in-place-of-neighbors",
        "_Inserter._accesses",
        "id(part) if len(places[name]) == 1 else -id(part)",
        "id(part)",
        "Threads that read one another's elements in an update do not wait.",
        _TESTS,
    ),
    Mutant(
        "accesses-of-the-part-forgotten",
        "_Inserter._part",
        "before | accesses",
        "before",
        "What a part accesses is not held against what follows, unless a barrier precedes it.",
        _TESTS,
    ),
    Mutant(
        "nothing-after-a-barrier",
        "_Inserter._part",
        "(block(Barrier(), part), accesses)",
        "(block(Barrier(), part), _Accesses())",
        "What a part accesses after a barrier is forgotten.",
        _TESTS,
    ),
    Mutant(
        "barriers-for-private-storage",
        "_shared",
        "frozenset(name for s in inside for name in buffers_written(s)) - private",
        "frozenset(name for s in inside for name in buffers_written(s))",
        "Threads wait for values that only they themselves have.",
        _TESTS,
    ),
    Mutant(
        "barrier-after-the-loop",
        "_Inserter._loop",
        "block(Barrier(), apart)",
        "block(apart, Barrier())",
        "The barrier in front of a loop stands behind it.",
        _TESTS,
    ),
    Mutant(
        "bounds-read-without-waiting",
        "_Inserter._loop",
        "_Accesses(read=self._about((name, -id(loop)) for name in buffers_read(loop)))",
        """
        _Accesses() if loop else _Accesses(
            read=self._about((name, -id(loop)) for name in buffers_read(loop))
        )
        """,
        "The bounds of a loop are read before they are written.",
        _TESTS,
    ),
)
