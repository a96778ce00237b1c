"""Bugs in canonical forms, and in the decisions that spaces are made of."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

_FORMS = ("model/nest/test_canonical.py", "process/test_partial.py", "process/test_presets.py")
_PARTIAL = ("process/test_partial.py",)
_PRESETS = ("process/test_presets.py",)
_MOVES = ("process/test_moves.py",)

DECISIONS = (
    Mutant(
        "computed-with-each-other-crosswise",
        "_have_turns",
        "in_turn(functions, found) is not None",
        "True",
        "Two pairs of Funcs are computed with each other though each waits for the other.",
        _PARTIAL,
    ),
    Mutant(
        "what-claims-nothing-is-taken-first",
        "option_taken",
        "option.claims",
        "option.label",
        "The way to a schedule with fused stages passes by the option to fuse them.",
        _PRESETS,
    ),
    Mutant(
        "fused-either-way",
        "fused_origin",
        "f'({outer}*{inner})'",
        "'({}*{})'.format(*sorted((outer, inner)))",
        "Which of two fused loops was the outer one does not count.",
        _FORMS,
    ),
    Mutant(
        "tails-do-not-count",
        "order_parts",
        "record.tail is not Tail.AUTO",
        "False",
        "Schedules with unlike tails are the same.",
        _FORMS,
    ),
    Mutant(
        "fuses-by-name",
        "FusesTopic._pairs",
        "sorted(pairs)",
        "sorted(pairs, key=lambda pair: pair[1:])",
        "The way to a schedule makes a later fuse first, and then cannot make the earlier one.",
        _PARTIAL,
    ),
    Mutant(
        "fuses-in-any-order",
        "FusesTopic._pairs",
        "rank > _rank(*self.latest)",
        "True",
        "Two fuses in either order are two schedules of a space.",
        _PARTIAL,
    ),
    Mutant(
        "factors-stand-for-any-split",
        "DecisionOption.misfits",
        "name not in form",
        "False",
        "A loop that is whole is taken for one that is split.",
        (*_PRESETS, *_PARTIAL),
    ),
    Mutant(
        "reads-of-open-funcs-have-limits",
        "_stays",
        "unknown_reads(state.pipeline, state.entries)",
        "frozenset[str]()",
        "What is not decided yet can make a partial schedule hopeless.",
        ("enumerate/process/test_universes.py",),
    ),
    Mutant(
        "levels-mean-one-loop-in-all-cases",
        "_Reader._level",
        "place.case is not None",
        "False",
        "Schedules that compute a Func elsewhere in a case are the same.",
        _FORMS,
    ),
    Mutant(
        "cases-of-all-stages",
        "order_of:OrderOf.replaced",
        "cases_of(entry, self.stage.stage)[self.case]",
        "entry.specializations[self.case]",
        "The loops of a case of an update become those of a case of the pure stage.",
        ("process/test_specializing.py",),
    ),
    Mutant(
        "estimates-hold-in-each-case",
        "prospects:may_become_legal",
        "judged_in(one, case).sizes()",
        "one.sizes()",
        "A case that the estimates do not select must be legal at the estimates.",
        ("process/test_specializing.py", "process/test_universes.py"),
    ),
    Mutant(
        "producers-cure-nothing",
        "_case_may_be_legal",
        "has_limits and is_open",
        "False",
        "A Func that is decided later is not specialized.",
        ("process/test_specializing.py", "process/test_universes.py"),
    ),
    Mutant(
        "both-ways-count",
        "_next_func",
        "first[1] / tried",
        "2 * first[1] / (tried + 1)",
        "Weights of random schedules count the second legal way, too.",
        ("enumerate/process/test_random_ways.py",),
    ),
    Mutant(
        "plain-options-have-the-chance-of-others",
        "_random_option",
        "chosen.choice(others), Fraction(PLAINNESS * len(others))",
        "chosen.choice(others), Fraction(len(options))",
        "Weights of random schedules are not one over their chance.",
        ("enumerate/process/test_random_ways.py",),
    ),
    Mutant(
        "tiles-inside-tiles",
        "NestsTopic._waiting",
        "origins[name].endswith('.0')",
        "origins[name].endswith('.1')",
        "Experts' loops over tiles must stand inside the tiles.",
        _PRESETS,
    ),
    Mutant(
        "one-parent-only",
        "crossed",
        "chosen.choice(choices)",
        "choices[0]",
        "A cross is its first parent.",
        _MOVES,
    ),
    Mutant(
        "neighbours-include-the-schedule",
        "neighbours",
        "option.label != taken",
        "True",
        "A schedule is its own neighbor.",
        _MOVES,
    ),
)
