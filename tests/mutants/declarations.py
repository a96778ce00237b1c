"""Planted bugs in how a directive is declared, and in what derives from its declaration."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

_TESTS = ("test_declaration.py",)

DECLARATIONS = (
    Mutant(
        "defaults-are-always-written",
        "Parameter.is_left_out",
        "value == self.default",
        "value is not self.default",
        "Arguments equal to their defaults are written, and others are lost.",
        _TESTS,
    ),
    Mutant(
        "what-must-be-written-is-left-out",
        "Parameter.is_left_out",
        "not self.is_required and not self.is_always_written and value == self.default",
        "not self.is_required and value == self.default",
        "A prefetch of the next iteration is written without its offset.",
        _TESTS,
    ),
    Mutant(
        "every-default-is-left-out",
        "Directive.arguments",
        "while values and self.parameters[len(values) - 1].is_left_out(values[-1]): values.pop()",
        "values = [v for p, v in zip(self.parameters, values) if not p.is_left_out(v)]",
        "A default before another argument is left out, and the other takes its place.",
        _TESTS,
    ),
    Mutant(
        "incomplete-records-are-written",
        "Directive.arguments",
        "any(value is None for value in values)",
        "all(value is None for value in values)",
        "bound(x, None, 64) is written where bound_extent(x, 64) is meant.",
        _TESTS,
    ),
    Mutant(
        "parts-have-the-names-of-parameters",
        "directive._parameter",
        "self.parts.get(name, name)",
        "name",
        "A parameter whose name differs from that of its part of the record is not found.",
        _TESTS,
    ),
    Mutant(
        "optional-parameters-are-independent",
        "Directive.usage",
        "rest = ''.join(f'[, {name}' for name in optional) + ']' * len(optional)",
        "rest = ''.join(f'[, {name}]' for name in optional)",
        "A usage line lets the tail be given without the factor.",
        _TESTS,
    ),
    Mutant(
        "usage-shows-required-parameters-alone",
        "Directive.required",
        "sum(p.is_required for p in self.parameters)",
        "len(self.parameters)",
        "A usage line shows no parameter as optional, and a reader asks for all of them.",
        _TESTS,
    ),
    Mutant(
        "examples-in-usage-are-names",
        "directive._parameter",
        "self.shown.get(name, words)",
        "words",
        "A usage line shows the name of a parameter that C++ cannot have.",
        _TESTS,
    ),
    Mutant(
        "any-two-arguments-are-a-level",
        "Directive.takes_level",
        "[p.kinds for p in self.parameters] == [(ArgumentKind.FUNC,), (ArgumentKind.LOOP,)]",
        "[p.kinds for p in self.parameters][1:] == [(ArgumentKind.LOOP,)]",
        "rename(x, y) is taken for a directive with a loop level.",
        _TESTS,
    ),
    Mutant(
        "arguments-beyond-the-first-are-of-its-kind",
        "Directive.kinds",
        "self.parameters[place].kinds",
        "self.parameters[0].kinds",
        "A factor is read as the name of a loop.",
        _TESTS,
    ),
    Mutant(
        "no-directive-adds-a-func",
        "Directive.adds_func",
        "self.record in get_args(Derivation)",
        "self.record in (Derivation,)",
        "in() and rfactor are read as directives of Funcs that there are.",
        _TESTS,
    ),
    Mutant(
        "help-is-the-whole-docstring",
        "directive.__call__",
        "(inspect.getdoc(method) or '').split('\\n\\n')[0].replace('\\n', ' ')",
        "(inspect.getdoc(method) or '').replace('\\n', ' ')",
        "The help of a directive runs on into its errors.",
        _TESTS,
    ),
)
