"""The grammar of schedules in text: Halide's method chains, as they stand in C++ and Python.

A text is a sequence of statements, each ended by a line's end or a ``;``::

    Var xi("xi"), yi;                  // declarations: what an identifier names
    const int vec = 8;                 // and numbers
    blur_y.tile(x, y, xi, yi, 256, 32)
          .vectorize(xi, 8);           # a line that starts with a dot continues the chain

This module knows neither Funcs nor directives; module ``text`` gives statements their meaning.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias, TypeVar

from attrs import define, field, frozen

from spaces.model.writing.syntax_error import Mistake
from spaces.model.writing.tokens import CLOSE, OPEN, Token, tokenize, unquote

_T = TypeVar("_T")


@frozen
class Word:
    """A name: a quoted string as it is, or identifiers joined by dots (``::`` counts as one)."""

    text: str
    quoted: bool
    start: int
    end: int

    @property
    def last(self) -> str:
        """The identifier after the last dot."""
        return self.text if self.quoted else self.text.rpartition(".")[2]


@frozen
class Whole:
    """A whole number."""

    value: int
    start: int
    end: int


@frozen
class Braces:
    """Arguments in braces."""

    items: tuple[Item, ...]
    start: int
    end: int


@frozen
class Applied:
    """A name applied to arguments."""

    name: Word
    args: tuple[Item, ...]
    start: int
    end: int


@frozen
class Code:
    """The argument of a directive that takes an expression, as written."""

    text: str
    start: int
    end: int


Item: TypeAlias = Word | Whole | Braces | Applied | Code


@frozen
class Chain:
    """``head.directive(args).directive(args)``."""

    head: Word
    calls: tuple[Applied, ...]


@frozen
class Declaration:
    """``Var name("text")``, ``Func name = initial``: what an identifier stands for.

    ``initial`` is a string, directives on a Func, the steps of another C++ expression such as
    ``f.update(0).get_schedule().dims()[1].var``, or None.
    """

    kind: str
    name: str
    initial: str | Chain | tuple[str | int, ...] | None


Statement: TypeAlias = Chain | Declaration

CONDITIONAL = ("specialize",)
"""Directives that take an expression."""

DECLARING = ("Var", "RVar", "Func")
NUMBER, QUALIFIERS = "int", ("const", "constexpr", "static")
"""What declares a number, and what may stand before it."""

IGNORED = ("using", "auto")
"""First words of C++ statements that say nothing about a schedule."""


def parse_statements(text: str) -> tuple[tuple[Statement, ...], tuple[Mistake, ...]]:
    """The statements of a schedule text, and the mistakes in the statements left out."""
    parser = _Parser(tokenize(text), text)
    statements: list[Statement] = []
    while parser.here.kind != "end":
        if parser.here.kind == "newline" or parser.here.text in (";", "{", "}"):
            parser.advance()
            continue
        try:
            statements += parser.statement()
            parser.end_of_statement()
        except Mistake as mistake:
            parser.mistakes.append(mistake)
            parser.skip_statement()
    return tuple(statements), tuple(parser.mistakes)


@define
class _Parser:
    """Recursive descent over tokens."""

    tokens: list[Token]
    source: str
    index: int = 0
    mistakes: list[Mistake] = field(factory=list)
    numbers: dict[str, int] = field(factory=dict)

    @property
    def here(self) -> Token:
        return self.tokens[self.index]

    @property
    def following(self) -> Token:
        return self.tokens[min(self.index + 1, len(self.tokens) - 1)]

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

    def end_of_statement(self) -> None:
        if self.here.kind not in ("newline", "end") and self.here.text not in (";", "}", "{"):
            raise self.fail("'.' and a directive, or the end of the statement")

    def skip_statement(self) -> None:
        while self.here.kind not in ("newline", "end") and self.here.text not in (";", "{", "}"):
            self.advance()

    def skip_call(self, start: int) -> None:
        """Go behind the parenthesis that closes the directive at token ``start``."""
        self.index = start
        depth = 0
        while self.here.kind not in ("newline", "end") and self.here.text != ";":
            text = self.advance().text
            depth += (text in OPEN) - (text in CLOSE)
            if text in CLOSE and depth <= 0:
                return

    def statement(self) -> tuple[Statement, ...]:
        if self.here.text in IGNORED and self.following.text != ".":
            self.skip_statement()
            return ()
        while self.here.text in QUALIFIERS and self.following.kind == "word":
            self.advance()
        if self.here.text == NUMBER and self.following.kind == "word":
            self.advance()
            self.separated(self.number)
            return ()
        if self.here.text in DECLARING and self.following.kind == "word":
            return self.declarations()
        return (self.chain(),)

    def chain(self) -> Chain:
        head = self.single("the name of a Func")
        calls = []
        before = len(self.mistakes)
        while self.accept("."):
            start = self.index
            try:
                calls.append(self.applied(self.single("a directive after '.'")))
            except Mistake as mistake:
                # The rest of the chain is read on, to find its mistakes as well.
                self.mistakes.append(mistake)
                self.skip_call(start)
        if not calls and len(self.mistakes) == before:
            self.end_of_statement()
            raise Mistake(
                f"Expected directives, as in {head.text}.compute_root().", head.start, head.end
            )
        return Chain(head, tuple(calls))

    def declarations(self) -> tuple[Declaration, ...]:
        kind = self.advance().text
        return self.separated(lambda: self.declarator(kind))

    def number(self) -> None:
        """``vec = 8``: a number that factors are made of."""
        name = self.single(f"a name after {NUMBER}").text
        self.expect("=", f"{NUMBER} {name}")
        self.numbers[name] = self.whole().value

    def declarator(self, kind: str) -> Declaration:
        if self.here.kind != "word":
            raise self.fail(f"a name after {kind}")
        name = self.advance().text
        if self.accept("="):
            directives = self.whole_chain() if kind == "Func" else None
            return Declaration(kind, name, directives or self.initial())
        if self.accept("("):
            initial = None if self.here.text == ")" else self.initial()
            self.expect(")", f"what {name} stands for")
            return Declaration(kind, name, initial)
        return Declaration(kind, name, None)

    def whole_chain(self) -> Chain | None:
        """A chain up to the end of its declaration; nothing is read where there is none."""
        start, known = self.index, len(self.mistakes)
        try:
            chain = self.chain()
        except Mistake:
            chain = None
        ends = self.here.kind in ("newline", "end") or self.here.text in (",", ";")
        if chain is not None and ends and len(self.mistakes) == known:
            return chain
        self.index = start
        del self.mistakes[known:]
        return None

    def initial(self) -> str | tuple[str | int, ...]:
        """A string, or the words and numbers of a C++ expression, in order."""
        if self.here.kind == "string":
            return unquote(self.advance().text)
        steps: list[str | int] = []
        depth = 0
        while True:
            token = self.here
            ends = token.text in (",", ")", ";") and depth == 0
            if ends or token.kind in ("newline", "end", "string"):
                return tuple(steps)
            if token.kind == "sign":
                depth += (token.text in OPEN) - (token.text in CLOSE)
            elif token.kind == "number":
                steps.append(self.literal())
                continue
            else:
                steps.append(token.text)
            self.advance()

    def separated(self, part: Callable[[], _T]) -> tuple[_T, ...]:
        parts = [part()]
        while self.accept(","):
            parts.append(part())
        return tuple(parts)

    def applied(self, name: Word) -> Applied:
        self.expect("(", f"directive {name.text}")
        if name.text in CONDITIONAL and not name.quoted:
            code = self.code()
            return Applied(name, (code,), name.start, self.expect(")", "the condition").end)
        args = () if self.here.text == ")" else self.separated(self.item)
        end = self.expect(")", f"the arguments of {name.text}").end
        return Applied(name, args, name.start, end)

    def code(self) -> Code:
        """All up to the parenthesis that closes the one before."""
        start, end, depth = self.here.start, self.here.start, 0
        while self.here.kind not in ("newline", "end"):
            depth += (self.here.text in OPEN) - (self.here.text in CLOSE)
            if depth < 0:
                break
            end = self.advance().end
        return Code(self.source[start:end], start, end)

    def item(self) -> Item:
        token = self.here
        if token.kind == "number" or token.text == "(" or token.text in self.numbers:
            return self.whole()
        if self.accept("{"):
            items = () if self.here.text == "}" else self.separated(self.item)
            return Braces(items, token.start, self.expect("}", "the names in braces").end)
        name = self.name("a loop, a Func or a number")
        if name.quoted and self.here.text == "." and self.following.text == "update":
            self.advance()
            end = self.advance().end
            name = Word(f"{name.text}.update", True, name.start, end)
            return self.applied(name)
        return name if name.quoted or self.here.text != "(" else self.applied(name)

    def whole(self) -> Whole:
        """A whole number, or a sum or product of such."""
        start, value = self.here.start, self.product()
        while self.here.text in ("+", "-") or self.here.text.startswith("-"):
            sign = -1 if self.accept("-") else 1
            self.accept("+")
            value += sign * self.product()
        return Whole(value, start, self.tokens[self.index - 1].end)

    def product(self) -> int:
        value = self.operand()
        while self.here.text in ("*", "/"):
            sign = self.advance()
            other = self.operand()
            if sign.text == "*":
                value *= other
            elif other and value % other == 0:
                value //= other
            else:
                raise Mistake(f"{value} / {other} is not a whole number.", sign.start, sign.end)
        return value

    def operand(self) -> int:
        if self.here.kind == "number":
            return self.literal()
        if self.here.text in self.numbers:
            return self.numbers[self.advance().text]
        if self.accept("("):
            value = self.whole().value
            self.expect(")", "a number")
            return value
        raise self.fail("a whole number, or one declared before as in const int vec = 8")

    def literal(self) -> int:
        token = self.advance()
        try:
            return int(token.text, 10)
        except ValueError:
            raise Mistake(f"{token.text} is not a whole number.", token.start, token.end) from None

    def single(self, expected: str) -> Word:
        token = self.here
        if token.kind not in ("string", "word"):
            raise self.fail(expected)
        self.advance()
        quoted = token.kind == "string"
        text = unquote(token.text) if quoted else token.text
        return Word(text, quoted, token.start, token.end)

    def name(self, expected: str) -> Word:
        if self.here.text == "::":
            self.advance()
        first = self.single(expected)
        if first.quoted:
            return first
        parts, end = [first.text], first.end
        while self.here.text in (".", "::") and self.following.kind == "word":
            self.advance()
            token = self.advance()
            parts.append(token.text)
            end = token.end
        return Word(".".join(parts), False, first.start, end)
