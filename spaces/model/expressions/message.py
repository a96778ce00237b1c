"""The message of a condition that does not hold: words, with the values of expressions between."""

from __future__ import annotations

from collections.abc import Sequence

from attrs import frozen

from spaces.model.expressions.expr import Expr, Text
from spaces.model.expressions.types import Type, UInt8


@frozen
class Message:
    """Words with gaps for values.

    Attributes:
        words: the words before, between and after the values; one more than there are values.
        types: the types of the values.
    """

    words: tuple[str, ...]
    types: tuple[Type, ...] = ()

    @staticmethod
    def of(parts: Sequence[Expr]) -> Message:
        """The message made of ``parts``, words or expressions, with spaces between them."""
        words, types = [""], []
        for number, part in enumerate(parts):
            words[-1] += " " if number else ""
            if isinstance(part, Text):
                words[-1] += part.words
            else:
                types.append(part.type)
                words.append("")
        return Message(tuple(words), tuple(types))

    def filled(self, values: Sequence[str]) -> str:
        """The message with texts in its gaps."""
        gaps = (text for pair in zip(values, self.words[1:], strict=True) for text in pair)
        return "".join((self.words[0], *gaps))

    def __str__(self) -> str:
        return self.filled([f"{{{number}}}" for number in range(1, len(self.types) + 1)])


def text(words: str) -> Text:
    """Words as a part of a message."""
    return Text(UInt8, words)


def shown(type: Type, value: int | float) -> str:
    """A value as Halide writes it into a message."""
    if type.is_bool:
        return "true" if value else "false"
    if type.is_float:
        return f"{value:f}" if type.bits == 32 else f"{value:e}"
    return str(int(value))
