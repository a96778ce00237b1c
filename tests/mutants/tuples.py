"""Bugs in Funcs of several values, and in the predicates of reduction domains."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

_TUPLES = ("backend/test_tuples.py",)
_WHERE = ("backend/test_where.py",)

TUPLES = (
    Mutant(
        "stored-one-after-the-other",
        "Statements.statement",
        """
        for ready in [self.values.ready(store) for store in stores]:
            ready()
        """,
        """
        for store in stores:
            self.values.forget_memory()
            self.values.ready(store)()
        """,
        "A value of a Tuple is evaluated after the one before it was stored.",
        _TUPLES,
    ),
    Mutant(
        "kernels-store-one-after-the-other",
        "_KernelPrinter._tuple_assignment",
        "root.expr.loads",
        "not root.expr.loads",
        "Kernels read a value of a Tuple when others have been stored.",
        _TUPLES,
    ),
    Mutant(
        "kernels-read-before-they-ask",
        "_KernelPrinter._if",
        "isinstance(body, If) and not body.condition.loads",
        "isinstance(body, If)",
        "Kernels read for a predicate where a guard around it does not hold.",
        _WHERE,
    ),
    Mutant(
        "replays-store-one-after-the-other",
        "Machine.run",
        "yield from self._write([_stored(part) for part in parts], frame)",
        """
        for part in parts:
            yield from self._write([_stored(part)], frame)
        """,
        "Replays evaluate a value of a Tuple when others have been stored.",
        _TUPLES,
    ),
    Mutant(
        "one-component-is-inlined",
        "_expand",
        "call.component or 0",
        "0",
        "Where a Tuple is inlined every read of it gets its first value.",
        _TUPLES,
    ),
    Mutant(
        "components-accumulate-crosswise",
        "UpdateRun._is_own_element",
        "(expr.component or 0) == component",
        "True",
        "A sum of another component is taken for one of the component itself.",
        _TUPLES,
    ),
    Mutant(
        "components-commute-crosswise",
        "_is_commutative",
        "accumulator.component == component",
        "True",
        "Sums that each take the other component are said to run in any order.",
        _TUPLES,
    ),
    Mutant(
        "one-component-in-shared-memory",
        "element_bytes",
        "sum(type.bytes for type in allocation.types)",
        "allocation.types[0].bytes",
        "Only the first array of a Tuple counts as memory of a kernel.",
        _TUPLES,
    ),
    Mutant(
        "components-have-no-sizes-in-kernels",
        "KernelSizes.of",
        "storage.buffers",
        "(storage.func,)",
        "The arrays of a Tuple have no constant sizes in kernels.",
        _TUPLES,
    ),
    Mutant(
        "components-take-one-buffer",
        "_fits",
        "is_tuple == (call.component is None) or (call.component or 0) >= len(types)",
        "is_tuple == (call.component is None)",
        "A component that a Tuple does not have may be read.",
        _TUPLES,
    ),
    Mutant(
        "last-of-equals",
        "argmin",
        "operator.lt",
        "operator.le",
        "argmin finds the last of several least values.",
        _TUPLES,
    ),
    Mutant(
        "short-vectors-masked-as-they-are",
        "AccessEmitter.store_masked",
        "type.lanes < full",
        "type.lanes < 0",
        "LLVM stores whole words where one narrow lane is wanted.",
        _TUPLES,
    ),
)

WHERE = (
    Mutant(
        "predicates-forgotten",
        "_statement",
        "node.predicates",
        "node.predicates[:0]",
        "Updates are done at all points of their domain.",
        _WHERE,
    ),
    Mutant(
        "predicates-in-any-order",
        "_plain_first",
        "part.loads",
        "not part.loads",
        "Predicates that read are asked before those that keep their reads in bounds.",
        _WHERE,
    ),
    Mutant(
        "predicates-need-what-they-leave-out",
        "narrowed",
        "known = [c for p in predicates if not p.loads for c in _claims(p)]",
        "claims: list[Expr] = []",
        "What a domain leaves out must exist all the same.",
        _WHERE,
    ),
    Mutant(
        "predicates-narrow-by-one-too-many",
        "_claims",
        "b - a - 1",
        "b - a - 2",
        "A strict comparison leaves out one more value than it does.",
        _WHERE,
    ),
    Mutant(
        "predicates-narrow-what-tails-visit",
        "Bounds._touched",
        "[p for p in stage.predicates if own.isdisjoint(p.names)]",
        "list(stage.predicates)",
        "What an update writes is found as if no tail went beyond what is required.",
        _WHERE,
    ),
    Mutant(
        "predicates-commute",
        "is_commutative",
        """
        not _reads(function, *stage.predicates) and all(
            _is_commutative(function, stage, component, value)
            for component, value in zip(function.components, stage.values, strict=True)
        )
        """,
        """
        all(
            _is_commutative(function, stage, component, value)
            for component, value in zip(function.components, stage.values, strict=True)
        )
        """,
        "A sum that asks how far it has come is said to run in any order.",
        _WHERE,
    ),
    Mutant(
        "predicates-read-nothing",
        "Stage.expressions",
        "(*self.values, *self.args, *bounds, *self.predicates)",
        "(*self.values, *self.args, *bounds)",
        "What a predicate reads is not asked of anybody.",
        _WHERE,
    ),
    Mutant(
        "predicates-are-no-definition",
        "_as_defined",
        "len(compute.predicates) != len(stage.predicates)",
        "len(compute.predicates) > len(stage.predicates)",
        "An update that ignores its predicates is said to be as it is defined.",
        _WHERE,
    ),
)
