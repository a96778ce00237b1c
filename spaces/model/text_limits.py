"""The limits of texts: schedules, the conditions in them, and JSON documents.

The limits are far beyond what people write. A reader refuses a text beyond a limit with a message,
before it spends more time, memory or stack on that text. ``docs/directives.md`` lists the limits.
"""

from __future__ import annotations

LONGEST_SCHEDULE = 200_000
"""Characters in the text of a schedule; 1,000 Funcs at root in tiles take 90,000."""

LONGEST_WORD = 1_000
"""Characters in a name or a number of a schedule; names in quotes may be longer."""

MOST_NESTED = 64
"""The deepest nesting of brackets, and of operators in a condition."""

LARGEST_CONDITION = 1_000
"""Names, numbers and operators in a condition; each occurrence counts."""

LARGEST_NUMBER = 2**63 - 1
"""The largest whole number of a schedule, intermediate results included; the smallest one is
-LARGEST_NUMBER - 1.
"""

MOST_RECORDS = 500
"""Loops, splits, bounds and other records of one Func in the text of a schedule."""

MOST_ADDED_FUNCS = 100
"""Funcs that the directives of a schedule add: wrappers, clones and intermediate Funcs."""

MOST_MISTAKES = 100
"""Mistakes that an error lists; the reader stops after this many."""

LONGEST_DOCUMENT = 20_000_000
"""Characters in a JSON document."""

LIMITS = {
    "characters in the text of a schedule": LONGEST_SCHEDULE,
    "loops, splits, bounds and other records of one Func in the text": MOST_RECORDS,
    "characters in a number, or in a name without quotes": LONGEST_WORD,
    "levels of nested brackets": MOST_NESTED,
    "levels of nested operators in a condition": MOST_NESTED,
    "names, numbers and operators in a condition (each occurrence counts)": LARGEST_CONDITION,
    "the largest whole number of a schedule": LARGEST_NUMBER,
    "Funcs that a text adds (`in`, `clone_in`, `rfactor`)": MOST_ADDED_FUNCS,
    "mistakes that an error lists; the reader stops after this many": MOST_MISTAKES,
    "characters in a JSON document": LONGEST_DOCUMENT,
}
"""The limits, each under a description for people."""


def is_number(value: int) -> bool:
    """Whether a schedule can hold this whole number."""
    return -LARGEST_NUMBER - 1 <= value <= LARGEST_NUMBER
