"""Whole numbers in schedule texts, as they stand in C++: declared, computed, or the length of the
vectors of a CPU.
"""

from __future__ import annotations

import re

from attrs import define, field

from spaces.model.text_limits import LARGEST_NUMBER, is_number
from spaces.model.writing.cursor import Cursor
from spaces.model.writing.syntax_error import Mistake
from spaces.model.writing.tokens import Token, shortened

NUMBER, QUALIFIERS = "int", ("const", "constexpr", "static")
"""What declares a number, and what may stand before it."""

BITS = {f"{sign}int{bits}_t": bits for sign in ("", "u") for bits in (8, 16, 32, 64)} | {
    "bool": 8,
    "char": 8,
    "short": 16,
    "int": 32,
    "float": 32,
    "double": 64,
}
"""The sizes of C++ types."""

_PREFIX = r"(?:\w+(?:\s*\(\s*\))?\s*(?:\.|->|::)\s*)*"
_SIZE = re.compile(rf"sizeof\b|{_PREFIX}natural_vector_size\b")
_SIZEOF = re.compile(r"sizeof\s*\(\s*(?P<type>\w+)\s*\)")
_VECTOR = re.compile(
    rf"""{_PREFIX}natural_vector_size \s* (?: < \s* (?:std::)?(?P<type>\w+) \s* > \s* \(\s*\)
    | \( \s* (?:\w+(?:::|\.))?(?:UInt|Int|Float) \s* \(\s* (?P<bits>8|16|32|64) \s*\)\s*\)
    | \( \s* (?:\w+::)?type_of \s* < \s* (?P<of>\w+) \s* > \s* \(\s*\)\s*\) )""",
    re.VERBOSE,
)
_EXAMPLE = "natural_vector_size<float>() and natural_vector_size(UInt(16))"


class Unsaid(Mistake):
    """Something that cannot be read because of a mistake before, which is reported already."""


@define
class NumberReader(Cursor):
    """Numbers read where they stand.

    Attributes:
        vector_bits: the width of the vectors of the CPU that is meant; None where none is.
        numbers: those declared so far by name; None for one that could not be read.
    """

    vector_bits: int | None = None
    numbers: dict[str, int | None] = field(factory=dict)

    @property
    def is_number(self) -> bool:
        """Whether a number begins here."""
        token = self.here
        known = token.kind == "word" and token.text in self.numbers
        return token.kind == "number" or token.text == "(" or known or self._names_size()

    def _names_size(self) -> bool:
        """Whether a C++ expression begins here whose value is the size of something."""
        return self.here.kind == "word" and _SIZE.match(self.source, self.here.start) is not None

    def declared_number(self) -> None:
        """``vec = 8``: a number that factors are made of."""
        token = self.here
        if token.kind != "word":
            raise self.fail(f"a name after {NUMBER}")
        name = self.advance().text
        self.numbers[name] = None
        self.expect("=", f"{NUMBER} {name}")
        self.numbers[name] = self.value_of(name)

    @property
    def assigns(self) -> bool:
        """Whether a declared number is given another value here."""
        signs = self.tokens[self.index + 1 : self.index + 3]
        changes = [s.text for s in signs] in (["*", "="], ["+", "="], ["-", "="])
        return self.here.text in self.numbers and (self.following.text == "=" or changes)

    def assignment(self) -> None:
        """``tile_w *= vec``."""
        place = self.advance()
        name, sign = place.text, self.advance().text
        before, self.numbers[name] = self.numbers[name], None
        if sign == "=":
            self.numbers[name] = self.value_of(name)
            return
        self.advance()
        value = self.value_of(name)
        if before is not None:
            results = {"*": before * value, "+": before + value, "-": before - value}
            self.numbers[name] = _held(results[sign], place)

    def value_of(self, name: str) -> int:
        start, place = self.here.start, self.index
        self.skip_statement()
        if "?" in (token.text for token in self.tokens[place : self.index]):
            message = f"Which number {name} is depends on a condition; write the one that is meant."
            raise Mistake(message, start, self.tokens[self.index - 1].end)
        self.index = place
        return self.sum()

    def sum(self) -> int:
        """A whole number, or a sum or product of such."""
        value = self.product()
        while self.here.text in ("+", "-") or self.here.text.startswith("-"):
            place = self.here
            sign = -1 if self.accept("-") else 1
            self.accept("+")
            value = _held(value + sign * self.product(), place)
        return value

    def product(self) -> int:
        value = self.operand()
        while self.here.text in ("*", "/"):
            sign = self.advance()
            other = self.operand()
            if sign.text == "*":
                value = _held(value * other, sign)
            elif other and value % other == 0:
                value = _held(value // other, sign)
            else:
                raise Mistake(f"{value} / {other} is not a whole number.", sign.start, sign.end)
        return value

    def operand(self) -> int:
        token = self.here
        if token.kind == "number":
            return self.literal()
        if token.kind == "word" and token.text in self.numbers:
            value = self.numbers[self.advance().text]
            if value is None:
                raise Unsaid(f"{token.text} could not be read.", token.start, token.end)
            return value
        if self._names_size():
            return self.size()
        if self.accept("("):
            with self.inside(token):
                value = self.sum()
            self.expect(")", "a number")
            return value
        raise self.fail("a whole number, or one declared before as in const int vec = 8")

    def size(self) -> int:
        """``natural_vector_size<float>()``: how many values of a type a vector holds."""
        start = self.here.start
        found = _SIZEOF.match(self.source, start) or _VECTOR.match(self.source, start)
        if found is None:
            self.skip_statement()
            message = f"What is read of such sizes is {_EXAMPLE}."
            raise Mistake(message, start, self.tokens[self.index - 1].end)
        while self.here.start < found.end():
            self.advance()
        parts = found.groupdict()
        bits = int(parts.get("bits") or BITS.get(parts.get("type") or parts.get("of") or "", 0))
        if not bits:
            types = ", ".join(BITS)
            message = f"There is no such type; there are {types}."
            raise Mistake(message, start, found.end())
        if found.re is _SIZEOF:
            return bits // 8
        if self.vector_bits is None:
            message = (
                "How long vectors are depends on the CPU: give parse_schedule its vector_bits, or "
                "write the number."
            )
            raise Mistake(message, start, found.end())
        return self.vector_bits // bits

    def literal(self) -> int:
        token = self.advance()
        try:
            value = int(token.text, 10)
        except ValueError:
            message = f"{shortened(token.text)} is not a whole number."
            raise Mistake(message, token.start, token.end) from None
        return _held(value, token)


def _held(value: int, place: Token) -> int:
    """``value``, where it is no larger than numbers of schedules are.

    Raises:
        Mistake: it is.
    """
    if is_number(value):
        return value
    message = f"This number is beyond {LARGEST_NUMBER}, the largest that a schedule holds."
    raise Mistake(message, place.start, place.end)
