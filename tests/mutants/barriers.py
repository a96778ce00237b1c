"""Bugs in where barriers stand."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

_FILE = "backend/lowering/gpu/barriers.py"
_TESTS = (
    "tests/backend/cuda/test_barriers_of_programs.py",
    "tests/backend/cuda/test_gpu_barriers.py",
    "tests/backend/cuda/test_gpu_schedules.py",
    "tests/backend/cuda/test_gpu_random.py",
)

MUTANTS = (
    Mutant(
        "reads-never-wait",
        _FILE,
        "_meet(self.written, later.read | later.written)",
        "_meet(self.written, later.written)",
        "What is written and then read needs no barrier: only writes are compared with writes.",
        _TESTS,
    ),
    Mutant(
        "overwriting-never-waits",
        _FILE,
        " or _meet(self.read, later.written)",
        "",
        "What is still read may be overwritten.",
        _TESTS,
    ),
    Mutant(
        "rewriting-never-waits",
        _FILE,
        "_meet(self.written, later.read | later.written)",
        "_meet(self.written, later.read)",
        "Two parts that write one buffer need no barrier between them.",
        _TESTS,
    ),
    Mutant(
        "loop-carried-barrier-forgotten",
        _FILE,
        "if entry | after == entry:",
        "if entry | after != entry or True:",
        "What one round of a loop accesses is not held against the next round.",
        _TESTS,
    ),
    Mutant(
        "only-others-conflict-inverted",
        _FILE,
        "a == b and who != other",
        "a == b and who == other",
        "Threads wait for their own accesses, not for those of others.",
        _TESTS,
    ),
    Mutant(
        "guarded-accesses-forgotten",
        _FILE,
        "return evolve(statement, body=inner), before | after",
        "return evolve(statement, body=inner), before",
        "What is accessed under a guard is not held against what follows.",
        _TESTS,
    ),
    Mutant(
        "guard-clears-accesses",
        _FILE,
        "return evolve(statement, body=inner), before | after",
        "return evolve(statement, body=inner), after",
        "A barrier under a guard counts for what was accessed before the guard.",
        _TESTS,
    ),
    Mutant(
        "updates-in-place-of-neighbors",
        _FILE,
        "id(part) if len(places[name]) == 1 else -id(part)",
        "id(part)",
        "Threads that read one another's elements in an update do not wait.",
        _TESTS,
    ),
    Mutant(
        "accesses-of-the-part-forgotten",
        _FILE,
        "return part, before | accesses",
        "return part, before",
        "What a part accesses is not held against what follows, unless a barrier precedes it.",
        _TESTS,
    ),
    Mutant(
        "nothing-after-a-barrier",
        _FILE,
        "return block(Barrier(), part), accesses",
        "return block(Barrier(), part), _Accesses()",
        "What a part accesses after a barrier is forgotten.",
        _TESTS,
    ),
    Mutant(
        "barriers-for-private-storage",
        _FILE,
        " - private",
        "",
        "Threads wait for values that only they themselves have.",
        _TESTS,
    ),
    Mutant(
        "barrier-after-the-loop",
        _FILE,
        "return block(Barrier(), apart), own",
        "return block(apart, Barrier()), own",
        "The barrier in front of a loop stands behind it.",
        _TESTS,
    ),
    Mutant(
        "bounds-read-without-waiting",
        _FILE,
        "bounds = _Accesses(read=",
        "bounds = _Accesses() if loop else _Accesses(read=",
        "The bounds of a loop are read before they are written.",
        _TESTS,
    ),
)
