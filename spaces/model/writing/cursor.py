"""Going through the tokens of a schedule text, one after another."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from attrs import define, field

from spaces.model.text_limits import LONGEST_WORD, MOST_NESTED
from spaces.model.writing.syntax_error import Mistake
from spaces.model.writing.tokens import CLOSE, OPEN, Token, shortened

_T = TypeVar("_T")


@define
class Cursor:
    """A place among tokens, and the mistakes found up to there."""

    tokens: list[Token]
    source: str
    index: int = 0
    mistakes: list[Mistake] = field(factory=list)
    _depth: int = 0

    @contextmanager
    def inside(self, bracket: Token) -> Iterator[None]:
        """Read what stands inside a bracket.

        Raises:
            Mistake: it stands in too many others.
        """
        if self._depth == MOST_NESTED:
            message = f"Brackets are nested more than {MOST_NESTED} deep here; write fewer."
            raise Mistake(message, bracket.start, bracket.end)
        self._depth += 1
        try:
            yield
        finally:
            self._depth -= 1

    @property
    def here(self) -> Token:
        return self.tokens[self.index]

    @property
    def following(self) -> Token:
        return self.tokens[min(self.index + 1, len(self.tokens) - 1)]

    @property
    def after_lines(self) -> Token:
        """The next token that does not end a line."""
        index = self.index
        while self.tokens[index].kind == "newline":
            index += 1
        return self.tokens[index]

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
        if token.kind == "long":
            return Mistake(
                f"This has {len(token.text)} characters; a name or a number has at most "
                f"{LONGEST_WORD}, unless it stands in quotes.",
                token.start,
                token.end,
            )
        found = {
            "newline": "the line ends",
            "end": "the text ends",
            "open": "found a string that does not end on its line",
        }.get(token.kind)
        found = found or f"found {shortened(token.text)!r}"
        return Mistake(f"Expected {expected}, but {found}.", token.start, token.end)

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
        """Skip to the end of the next parenthesis, within this line and statement."""
        depth = 0
        while not self.is_at_end and self.here.text != ";":
            text = self.advance().text
            depth += (text in OPEN) - (text in CLOSE)
            if text in CLOSE and depth <= 0:
                return

    def skip_header(self) -> None:
        """Skip to the end of the next parenthesis, whatever it contains."""
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
        """Skip a statement, or statements in braces."""
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
