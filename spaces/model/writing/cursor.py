"""Going through the tokens of a schedule text, one after another."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from attrs import define, field

from spaces.model.writing.syntax_error import Mistake
from spaces.model.writing.tokens import CLOSE, OPEN, Token

_T = TypeVar("_T")


@define
class Cursor:
    """A place among tokens, and the mistakes found up to there."""

    tokens: list[Token]
    source: str
    index: int = 0
    mistakes: list[Mistake] = field(factory=list)

    @property
    def here(self) -> Token:
        return self.tokens[self.index]

    @property
    def following(self) -> Token:
        return self.tokens[min(self.index + 1, len(self.tokens) - 1)]

    @property
    def after_lines(self) -> Token:
        """The next token that is no line's end."""
        return next(t for t in self.tokens[self.index :] if t.kind != "newline")

    @property
    def is_at_end(self) -> bool:
        """Whether a line or the text ends here."""
        return self.here.kind in ("newline", "end")

    def advance(self) -> Token:
        token = self.here
        self.index = min(self.index + 1, len(self.tokens) - 1)
        return token

    def fail(self, expected: str) -> Mistake:
        token = self.here
        found = {"newline": "the line ends", "end": "the text ends"}.get(token.kind)
        return Mistake(
            f"Expected {expected}, but {found or f'found {token.text!r}'}.", token.start, token.end
        )

    def accept(self, sign: str) -> bool:
        if self.here.kind == "sign" and self.here.text == sign:
            self.advance()
            return True
        return False

    def expect(self, sign: str, after: str) -> Token:
        if not (self.here.kind == "sign" and self.here.text == sign):
            raise self.fail(f"{sign!r} after {after}")
        return self.advance()

    def separated(self, part: Callable[[], _T]) -> tuple[_T, ...]:
        parts = [part()]
        while self.accept(","):
            parts.append(part())
        return tuple(parts)

    def skip_statement(self) -> None:
        while not self.is_at_end and self.here.text not in (";", "{", "}"):
            self.advance()

    def skip_parentheses(self) -> None:
        """Go behind the parenthesis that closes the next one, on this line and statement."""
        depth = 0
        while not self.is_at_end and self.here.text != ";":
            text = self.advance().text
            depth += (text in OPEN) - (text in CLOSE)
            if text in CLOSE and depth <= 0:
                return

    def skip_header(self) -> None:
        """Go behind the parenthesis that closes the next one, past whatever is between."""
        depth = 0
        while self.here.kind != "end":
            text = self.advance().text
            depth += (text == "(") - (text == ")")
            if depth == 0:
                return

    def skip_lines(self) -> None:
        while self.here.kind == "newline":
            self.advance()

    def skip_block(self) -> None:
        """Go behind a statement, or behind statements in braces."""
        self.skip_lines()
        if self.here.text != "{":
            self.skip_statement()
            self.accept(";")
            return
        depth = 0
        while self.here.kind != "end":
            text = self.advance().text
            depth += (text == "{") - (text == "}")
            if depth == 0:
                return
