"""Bugs in what directives add: wrappers, clones, reductions in two steps, atomic updates."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

_GRAPH = ("tests/model/test_derive.py", "tests/model/test_rfactor.py")
_RULES = ("tests/constraints/test_rules.py",)
_ATOMIC = ("tests/backend/test_atomic.py",)
_KERNELS = ("tests/backend/cuda/test_gpu_atomic.py",)

MUTANTS = (
    Mutant(
        "global-wrapper-around-wrappers",
        "spaces/model/derive.py",
        "if n not in wrappers)",
        "if n)",
        "The wrapper for everybody is read by the wrappers that others have of their own.",
        _GRAPH,
    ),
    Mutant(
        "own-wrapper-of-none",
        "spaces/model/derive.py",
        "replaced = {step.func, *(d.name for d in wraps if not d.consumers)}",
        "replaced = {step.func}",
        "Who reads the wrapper for everybody gets no wrapper of its own any more.",
        _GRAPH,
    ),
    Mutant(
        "clone-reads-the-original",
        "spaces/model/derive.py",
        "clone = evolve(_calling(source, {step.func: step.name}), name=step.name)",
        "clone = evolve(source, name=step.name)",
        "The updates of a clone go on from the values of the original.",
        _GRAPH,
    ),
    Mutant(
        "refused-derivation-unsaid",
        "spaces/constraints/rules/derivations.py",
        "            if refusal.rule == id:\n",
        "            if refusal.rule == id and not refusal.message:\n",
        "What cannot be derived is left out in silence.",
        _RULES,
    ),
    Mutant(
        "identity-of-minimum",
        "spaces/model/accumulation.py",
        "constant(math.inf if type.is_float else type.max_value, type)",
        "constant(math.inf if type.is_float else 0, type)",
        "Partial minima begin at zero.",
        ("tests/constraints/proofs/test_associative.py", *_GRAPH),
    ),
    Mutant(
        "difference-for-a-sum",
        "spaces/model/accumulation.py",
        '    *("add", "mul", "min", "max", "and", "or"),\n',
        '    *("add", "sub", "mul", "min", "max", "and", "or"),\n',
        "Differences are taken for an operator whose order does not matter.",
        (*_GRAPH, "tests/constraints/proofs/test_associative.py"),
    ),
    Mutant(
        "factored-from-zero",
        "spaces/model/rfactor.py",
        "{record.old: walked + old.min}",
        "{record.old: walked}",
        "The loops of a split RVar begin at zero wherever its domain does.",
        _GRAPH,
    ),
    Mutant(
        "factored-beyond-the-end",
        "spaces/model/rfactor.py",
        "(*beyond, *(rewrite(p, change) for p in stage.predicates)),",
        "tuple(rewrite(p, change) for p in stage.predicates),",
        "The last tile of a split that does not divide is reduced in full.",
        _GRAPH,
    ),
    Mutant(
        "factored-without-predicates",
        "spaces/model/rfactor.py",
        "(*beyond, *(rewrite(p, change) for p in stage.predicates)),",
        "beyond,",
        "Partial results are of the whole domain, not of where its predicates hold.",
        _GRAPH,
    ),
    Mutant(
        "best-in-any-order",
        "spaces/model/rfactor.py",
        "    if not found.is_commutative:\n",
        "    if False:\n",
        "Which of equally good values is kept depends on what is factored.",
        (*_GRAPH, *_RULES),
    ),
    Mutant(
        "never-in-one-step",
        "backend/lowering/updates.py",
        "Update(operator, shared)",
        "Update(operator, False)",
        "Threads read an element, and write it, without regard to one another.",
        _ATOMIC,
    ),
    Mutant(
        "lanes-that-collide",
        "backend/lowering/vectorize.py",
        "        if store.update is not None:\n            return self._update",
        "        if store.update is not None and not self.lanes:\n            return self._update",
        "Lanes that update one element by way of a table overwrite one another.",
        _ATOMIC,
    ),
    Mutant(
        "exchange-once",
        "backend/llvm/memory.py",
        "build.cbranch(build.extract_value(pair, 1), done, again)",
        "build.branch(done)",
        "An update is lost where another thread comes in between.",
        _ATOMIC,
    ),
    Mutant(
        "half-of-the-lanes",
        "backend/llvm/operators.py",
        "for first in (0, count)\n",
        "for first in (0, 0)\n",
        "One half of the lanes is reduced twice, the other not at all.",
        _ATOMIC,
    ),
    Mutant(
        "kernels-update-in-two-steps",
        "backend/lowering/updates.py",
        "_BY_THREADS = {LoopKind.PARALLEL, LoopKind.GPU_BLOCK, LoopKind.GPU_THREAD}",
        "_BY_THREADS = {LoopKind.PARALLEL}",
        "Threads of a kernel read an element, and store what becomes of it, as if they were alone.",
        _KERNELS,
    ),
    Mutant(
        "another-atomic-function",
        "backend/cuda/atomics.py",
        '"min": "atomicMin"',
        '"min": "atomicMax"',
        "Kernels keep the greatest value for the least.",
        _KERNELS,
    ),
    Mutant(
        "short-words-in-kernels",
        "spaces/constraints/rules/atomic_updates.py",
        "type.bits < _FEWEST_BITS",
        "type.bits < 0",
        "Kernels are to change bytes in one step, for which there is no instruction.",
        (*_KERNELS, *_RULES),
    ),
    Mutant(
        "atomic-without-an-operator",
        "spaces/constraints/rules/atomic_updates.py",
        "elif found is None or not set(found.operators) <= set(IN_ONE_STEP):",
        "elif False:",
        "Updates that do not accumulate are taken for atomic.",
        _RULES,
    ),
)
