"""What a text may hold at most: schedules, the conditions in them, and JSON documents.

They are far beyond what anybody writes. A text beyond one of them is refused with a sentence,
before a reader spends more time, memory or stack on it. ``docs/directives.md`` lists them.
"""

from __future__ import annotations

LONGEST_SCHEDULE = 50_000
"""Characters in the text of a schedule."""

LONGEST_WORD = 1_000
"""Characters in a name or a number of a schedule; names in quotes may be longer."""

MOST_NESTED = 64
"""Brackets within one another, and operators of a condition within one another."""

LARGEST_CONDITION = 1_000
"""Names, numbers and operators in a condition, each counted as often as it is written."""

LARGEST_NUMBER = 2**63 - 1
"""The largest whole number of a schedule, and of any result on the way to it; -LARGEST_NUMBER - 1
is the least.
"""

MOST_RECORDS = 500
"""Loops, splits, bounds and other records of a Func in the text of a schedule."""

MOST_ADDED_FUNCS = 100
"""Funcs that the directives of a schedule add: wrappers, clones and intermediate Funcs."""

MOST_MISTAKES = 100
"""Mistakes that an error lists; the reader stops after so many."""

LONGEST_DOCUMENT = 20_000_000
"""Characters in a JSON document."""

LIMITS = {
    "characters in the text of a schedule": LONGEST_SCHEDULE,
    "loops, splits, bounds and other records of a Func in it": MOST_RECORDS,
    "characters in a name, without quotes, or a number of it": LONGEST_WORD,
    "brackets within one another": MOST_NESTED,
    "operators of a condition within one another": MOST_NESTED,
    "names, numbers and operators of a condition, each as often as it is written": (
        LARGEST_CONDITION
    ),
    "the largest whole number of a schedule": LARGEST_NUMBER,
    "Funcs that a text adds (`in`, `clone_in`, `rfactor`)": MOST_ADDED_FUNCS,
    "mistakes that an error lists; the reader stops after so many": MOST_MISTAKES,
    "characters in a JSON document": LONGEST_DOCUMENT,
}
"""The limits in words."""


def is_number(value: int) -> bool:
    """Whether a schedule can hold this whole number."""
    return -LARGEST_NUMBER - 1 <= value <= LARGEST_NUMBER
