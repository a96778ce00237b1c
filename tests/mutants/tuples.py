"""Bugs in Funcs of several values, and in the predicates of reduction domains."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

_TUPLES = ("tests/backend/test_tuples.py",)
_WHERE = ("tests/backend/test_where.py",)

TUPLES = (
    Mutant(
        "stored-one-after-the-other",
        "backend/llvm/statements.py",
        "for ready in [self.values.ready(store) for store in stores]:\n                    ready()",
        "for store in stores:\n"
        "                    self.values.forget_memory()\n"
        "                    self.values.ready(store)()",
        "A value of a Tuple is evaluated after the one before it was stored.",
        _TUPLES,
    ),
    Mutant(
        "kernels-store-one-after-the-other",
        "backend/cuda/printer.py",
        "if root.expr.loads:",
        "if not root.expr.loads:",
        "Kernels read a value of a Tuple when others have been stored.",
        _TUPLES,
    ),
    Mutant(
        "kernels-read-before-they-ask",
        "backend/cuda/printer.py",
        "isinstance(body, If) and not body.condition.loads",
        "isinstance(body, If)",
        "Kernels read for a predicate where a guard around it does not hold.",
        _WHERE,
    ),
    Mutant(
        "replays-store-one-after-the-other",
        "backend/replay/machine.py",
        "yield from self._write([_stored(part) for part in parts], frame)",
        "for part in parts:\n                    yield from self._write([_stored(part)], frame)",
        "Replays evaluate a value of a Tuple when others have been stored.",
        _TUPLES,
    ),
    Mutant(
        "one-component-is-inlined",
        "spaces/model/schedules/inlining.py",
        "inlined(callee.stages[0], call.component or 0)",
        "inlined(callee.stages[0], 0)",
        "Where a Tuple is inlined every read of it gets its first value.",
        _TUPLES,
    ),
    Mutant(
        "components-accumulate-crosswise",
        "backend/reference/updates.py",
        "and (expr.component or 0) == component",
        "and True",
        "A sum of another component is taken for one of the component itself.",
        _TUPLES,
    ),
    Mutant(
        "components-commute-crosswise",
        "spaces/constraints/hazards.py",
        "and accumulator.component == component",
        "and True",
        "Sums that each take the other component are said to run in any order.",
        _TUPLES,
    ),
    Mutant(
        "one-component-in-shared-memory",
        "spaces/constraints/kernels.py",
        "sum(type.bytes for type in allocation.types)",
        "allocation.types[0].bytes",
        "Only the first array of a Tuple counts as memory of a kernel.",
        _TUPLES,
    ),
    Mutant(
        "components-have-no-sizes-in-kernels",
        "backend/lowering/gpu/sizes.py",
        "for buffer in storage.buffers",
        "for buffer in (storage.func,)",
        "The arrays of a Tuple have no constant sizes in kernels.",
        _TUPLES,
    ),
    Mutant(
        "components-take-one-buffer",
        "spaces/model/algorithm/consistency.py",
        "if is_tuple == (call.component is None) or (call.component or 0) >= len(types):",
        "if is_tuple == (call.component is None):",
        "A component that a Tuple does not have may be read.",
        _TUPLES,
    ),
    Mutant(
        "last-of-equals",
        "spaces/model/algorithm/reductions.py",
        "highest(given.body.type), operator.lt)",
        "highest(given.body.type), operator.le)",
        "argmin finds the last of several least values.",
        _TUPLES,
    ),
    Mutant(
        "short-vectors-masked-as-they-are",
        "backend/llvm/memory.py",
        "if type.lanes < full:",
        "if type.lanes < 0:",
        "LLVM stores whole words where one narrow lane is wanted.",
        _TUPLES,
    ),
)

WHERE = (
    Mutant(
        "predicates-forgotten",
        "backend/lowering/start.py",
        "for predicate in reversed(node.predicates):",
        "for predicate in reversed(node.predicates[:0]):",
        "Updates are done at all points of their domain.",
        _WHERE,
    ),
    Mutant(
        "predicates-in-any-order",
        "spaces/model/algorithm/pipeline.py",
        "key=lambda part: part.loads)",
        "key=lambda part: not part.loads)",
        "Predicates that read are asked before those that keep their reads in bounds.",
        _WHERE,
    ),
    Mutant(
        "predicates-need-what-they-leave-out",
        "spaces/model/algorithm/predicates.py",
        "claims = [c for p in predicates if not p.loads for c in _claims(p)]",
        "claims: list[Expr] = []",
        "What a domain leaves out must exist all the same.",
        _WHERE,
    ),
    Mutant(
        "predicates-narrow-by-one-too-many",
        "spaces/model/algorithm/predicates.py",
        "return (b - a - 1,)",
        "return (b - a - 2,)",
        "A strict comparison leaves out one more value than it does.",
        _WHERE,
    ),
    Mutant(
        "predicates-narrow-what-tails-visit",
        "spaces/model/nest/placement.py",
        "predicates = [p for p in stage.predicates if own.isdisjoint(p.names)]",
        "predicates = list(stage.predicates)",
        "What an update writes is found as if no tail went beyond what is required.",
        _WHERE,
    ),
    Mutant(
        "predicates-commute",
        "spaces/constraints/hazards.py",
        "return not _reads(function, *stage.predicates) and all(",
        "return all(",
        "A sum that asks how far it has come is said to run in any order.",
        _WHERE,
    ),
    Mutant(
        "predicates-read-nothing",
        "spaces/model/algorithm/pipeline.py",
        "nodes = walk(*self.values, *self.args, *bounds, *self.predicates)",
        "nodes = walk(*self.values, *self.args, *bounds)",
        "What a predicate reads is not asked of anybody.",
        _WHERE,
    ),
    Mutant(
        "predicates-are-no-definition",
        "spaces/constraints/proofs/definition.py",
        "if len(compute.predicates) != len(stage.predicates):",
        "if len(compute.predicates) > len(stage.predicates):",
        "An update that ignores its predicates is said to be as it is defined.",
        _WHERE,
    ),
)
