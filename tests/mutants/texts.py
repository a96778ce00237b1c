"""Planted bugs in what is read of schedule texts, what is told of them, and how commands end."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

_PASTED = ("test_pasted_text.py",)
_LIMITS = ("test_text_limits.py",)
_TOLD = ("test_commands_verify.py",)

TEXTS = (
    Mutant(
        "lanes-are-bytes",
        "NumberReader.size",
        "self.vector_bits // bits",
        "self.vector_bits // 8",
        "natural_vector_size is the same for all types.",
        _PASTED,
    ),
    Mutant(
        "brackets-without-end",
        "Cursor.inside",
        "self._depth += 1",
        "self._depth += 0",
        "Brackets are not counted, and Python's stack ends first.",
        _LIMITS,
    ),
    Mutant(
        "products-without-end",
        "NumberReader.product",
        "value = _held(value * other, sign)",
        "value *= other",
        "Products of declared numbers grow without limit.",
        _LIMITS,
    ),
    Mutant(
        "literals-lose-their-type",
        "_operand_text",
        "_typed",
        "_text",
        "Numbers of a condition without sizes are written as int32.",
        _LIMITS,
    ),
    Mutant(
        "infinite-by-rounding",
        "number_in",
        "math.isinf",
        "math.isnan",
        "A float beyond its type is silently infinite.",
        ("test_given_numbers.py",),
    ),
    Mutant(
        "rest-is-inlined",
        "mended",
        "{**rooted, **given}",
        "given",
        "What is not understood is inlined into what is.",
        ("test_findings.py",),
    ),
    Mutant(
        "one-else",
        "_Parser.control",
        """
        while self.after_lines.text == "else":
            self.skip_lines()
            self.advance()
            if self.here.text == "if":
                self.advance()
                self.skip_header()
            self.skip_block()
        """,
        """
        if self.after_lines.text == "else":
            self.skip_lines()
            self.advance()
            if self.here.text == "if":
                self.advance()
                self.skip_header()
            self.skip_block()
        """,
        "Of several branches only two are left out.",
        _PASTED,
    ),
    Mutant(
        "outside-of-the-next-only",
        "Reader.outside",
        "level = other.compute",
        "level = other.store",
        "Outside the loops of a Func is where it is stored.",
        _PASTED,
    ),
    Mutant(
        "mistyped-funcs-are-nobody",
        "Reader.read_all",
        "known - self.named",
        "set()",
        "What is said of a mistyped Func is not missed elsewhere.",
        _PASTED,
    ),
    Mutant(
        "places-of-the-pure-stage",
        "WrittenSchedule.place",
        "(func, stage, loop)",
        "(func, 0, loop)",
        "A loop of an update is sought in the pure stage.",
        _PASTED,
    ),
    Mutant(
        "half-read-is-judged",
        "_violations",
        "unread | {violation.func for violation in found}",
        "{violation.func for violation in found}",
        "Rules are asked of entries that could be read in part only.",
        _TOLD,
    ),
    Mutant(
        "interrupted-and-done",
        "Collected.__iter__",
        "self.interrupted = True",
        "self.interrupted = False",
        "An interrupted command says that it is done.",
        ("test_interruptions.py",),
    ),
    Mutant(
        "renamed-loops-forget-their-policy",
        "_renamed",
        "tuple(Partitioned(named(one.loop), one.policy) for one in order.partitions)",
        "order.partitions",
        "The partition that is said of a loop is not said of it under its new name.",
        ("test_directives.py",),
    ),
    Mutant(
        "renamed-loops-prefetch-nowhere",
        "_renamed",
        "attrs.evolve(one, at=named(one.at), origin=named(one.origin))",
        "attrs.evolve(one, at=named(one.at))",
        "A prefetch goes along a loop that has another name.",
        ("test_directives.py",),
    ),
)
