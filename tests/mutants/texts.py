"""Planted bugs in what is read of schedule texts, what is told of them, and how commands end."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

_PASTED = ("tests/model/test_pasted_text.py",)
_LIMITS = ("tests/model/test_text_limits.py",)
_TOLD = ("tests/apps/test_commands_verify.py",)

TEXTS = (
    Mutant(
        "lanes-are-bytes",
        "spaces/model/writing/arithmetic.py",
        "return self.vector_bits // bits",
        "return self.vector_bits // 8",
        "natural_vector_size is the same for all types.",
        _PASTED,
    ),
    Mutant(
        "brackets-without-end",
        "spaces/model/writing/cursor.py",
        "self._depth += 1\n",
        "self._depth += 0\n",
        "Brackets are not counted, and Python's stack ends first.",
        _LIMITS,
    ),
    Mutant(
        "products-without-end",
        "spaces/model/writing/arithmetic.py",
        "value = _held(value * other, sign)",
        "value *= other",
        "Products of declared numbers grow without limit.",
        _LIMITS,
    ),
    Mutant(
        "literals-lose-their-type",
        "spaces/model/schedules/conditions.py",
        "return _typed(operand) if alone and",
        "return _text(operand) if alone and",
        "Numbers of a condition without sizes are written as int32.",
        _LIMITS,
    ),
    Mutant(
        "infinite-by-rounding",
        "spaces/model/expressions/numbers.py",
        "if math.isinf(result) and not _is_infinite(value):",
        "if math.isnan(result) and not _is_infinite(value):",
        "A float beyond its type is silently infinite.",
        ("tests/model/test_given_numbers.py",),
    ),
    Mutant(
        "rest-is-inlined",
        "spaces/constraints/partial.py",
        "{**rooted, **given}.get(",
        "given.get(",
        "What is not understood is inlined into what is.",
        ("tests/text_fuzz/test_findings.py",),
    ),
    Mutant(
        "one-else",
        "spaces/model/writing/syntax.py",
        'while self.after_lines.text == "else":',
        'if self.after_lines.text == "else":',
        "Of several branches only two are left out.",
        _PASTED,
    ),
    Mutant(
        "outside-of-the-next-only",
        "spaces/model/writing/schedule_reader.py",
        "level = other.compute\n",
        "level = other.store\n",
        "Outside the loops of a Func is where it is stored.",
        _PASTED,
    ),
    Mutant(
        "mistyped-funcs-are-nobody",
        "spaces/model/writing/schedule_reader.py",
        "self.unread |= known - self.named",
        "self.unread |= set()",
        "What is said of a mistyped Func is not missed elsewhere.",
        _PASTED,
    ),
    Mutant(
        "places-of-the-pure-stage",
        "spaces/model/writing/written.py",
        "((func, stage, loop), (func, stage",
        "((func, 0, loop), (func, stage",
        "A loop of an update is sought in the pure stage.",
        _PASTED,
    ),
    Mutant(
        "half-read-is-judged",
        "spaces/constraints/verify.py",
        "broken = unread | {violation.func for violation in found}",
        "broken = {violation.func for violation in found}",
        "Rules are asked of entries that could be read in part only.",
        _TOLD,
    ),
    Mutant(
        "ctrl-c-while-it-ends",
        "backend/collector.py",
        "except BaseException:",
        "except Exception:",
        "The collector stays off where Ctrl-C comes at the end of its wait.",
        ("tests/backend/test_collector.py",),
    ),
    Mutant(
        "interrupted-and-done",
        "apps/command_line/collected.py",
        "self.interrupted = True",
        "self.interrupted = False",
        "An interrupted command says that it is done.",
        ("tests/apps/test_interruptions.py",),
    ),
    Mutant(
        "renamed-loops-forget-their-policy",
        "spaces/model/directives/loop_directives.py",
        "tuple(Partitioned(named(one.loop), one.policy) for one in order.partitions)",
        "order.partitions",
        "The partition that is said of a loop is not said of it under its new name.",
        ("tests/model/test_directives.py",),
    ),
    Mutant(
        "renamed-loops-prefetch-nowhere",
        "spaces/model/directives/loop_directives.py",
        "attrs.evolve(one, at=named(one.at), origin=named(one.origin))",
        "attrs.evolve(one, at=named(one.at))",
        "A prefetch goes along a loop that has another name.",
        ("tests/model/test_directives.py",),
    ),
)
