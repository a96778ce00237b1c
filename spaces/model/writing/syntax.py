"""The grammar of schedules in text: Halide's method chains, as they stand in C++ and Python.

A text is a sequence of statements, each ended by a line's end or a ``;``::

    Var xi("xi"), yi;                  // declarations: what an identifier names
    const int vec = 8;                 // and numbers
    blur_y.tile(x, y, xi, yi, 256, 32)
          .vectorize(xi, 8);           # a line that starts with a dot continues the chain

This module knows neither Funcs nor directives; module ``text`` gives statements their meaning.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from attrs import define, evolve, frozen

from spaces.model.text_limits import LONGEST_SCHEDULE, LONGEST_WORD
from spaces.model.writing.arithmetic import NUMBER, QUALIFIERS, NumberReader, Unsaid
from spaces.model.writing.syntax_error import Mistake
from spaces.model.writing.tokens import CLOSE, OPEN, Token, tokenize, unquote


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


@frozen
class StageReference:
    """A Func that directives add, or a stage: ``f.in(g)``, ``f.update(0)``."""

    head: Word
    calls: tuple[Applied, ...]
    start: int
    end: int


Item: TypeAlias = Word | Whole | Braces | Applied | Code | StageReference


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


WrittenStatement: TypeAlias = Chain | Declaration


@frozen
class Parsed:
    """The statements of a text.

    Attributes:
        mistakes: those in statements that are left out, all or in part.
        unread: what these statements are about, as far as they begin with a name.
    """

    statements: tuple[WrittenStatement, ...]
    mistakes: tuple[Mistake, ...]
    unread: tuple[Word, ...]


CONDITIONAL = ("specialize",)
"""Directives that take an expression."""

REFERRING = ("in", "in_", "clone_in", "update")
"""What leads from one Func to another, or to one of its stages."""

DECLARING = ("Var", "RVar", "Func")

IGNORED = ("using", "auto", "bool", "Expr", "Target")
"""First words of C++ statements that say nothing about a schedule."""

_CHOICE = "Which branch is meant is not decided here: keep its statements alone, without {}."
_REPEATED = "Loops of C++ are not run: write the statements of this {} once for each Func, by name."
CONTROL = {
    **{word: _REPEATED.format(word) for word in ("for", "while", "do")},
    **{word: _CHOICE.format(word) for word in ("if", "else", "switch", "case", "default")},
    **{word: f"A schedule has no {word}; remove it." for word in ("break", "return", "continue")},
}
"""First words of C++ statements about others, and what to do instead."""


def parse_statements(text: str, vector_bits: int | None = None) -> Parsed:
    """The statements of a schedule text; ``vector_bits`` is the width of the vectors of the CPU
    whose ``natural_vector_size`` is meant.
    """
    if len(text) > LONGEST_SCHEDULE:
        message = f"A schedule has at most {LONGEST_SCHEDULE} characters; this one has more."
        return Parsed((), (Mistake(message, LONGEST_SCHEDULE, LONGEST_SCHEDULE + 1),), ())
    parser = _Parser(tokenize(text), text, vector_bits=vector_bits)
    statements: list[WrittenStatement] = []
    unread: list[Word] = []
    while parser.here.kind != "end":
        if parser.here.kind == "newline" or parser.here.text in (";", "{", "}"):
            parser.advance()
            continue
        begin, known = parser.index, len(parser.mistakes)
        try:
            statements += parser.statement()
            parser.end_of_statement()
        except Mistake as mistake:
            parser.mistakes.append(mistake)
            if parser.tokens[begin].text not in CONTROL:
                parser.skip_statement()
        if len(parser.mistakes) > known:
            unread += _heads(parser.tokens[begin : parser.index])
    mistakes = tuple(mistake for mistake in parser.mistakes if not isinstance(mistake, Unsaid))
    return Parsed(tuple(statements), mistakes, tuple(unread))


def _heads(tokens: Sequence[Token]) -> list[Word]:
    """The names before the first dots of chains."""
    return [
        Word(unquote(t.text) if t.kind == "string" else t.text, t.kind == "string", t.start, t.end)
        for before, t, after in zip([None, *tokens], tokens, [*tokens[1:], None], strict=False)
        if t.kind in ("word", "string")
        and (before is None or before.text != ".")
        and after is not None
        and after.text in (".", "[")
    ]


@define
class _Parser(NumberReader):
    """Recursive descent over tokens."""

    def end_of_statement(self) -> None:
        if not self.is_at_end and self.here.text not in (";", "}", "{"):
            raise self.fail("'.' and a directive, or the end of the statement")

    def control(self) -> None:
        """Refuse a statement about other statements, and go behind them."""
        word = self.advance()
        if self.here.text == "(":
            self.skip_header()
        self.skip_block()
        while self.after_lines.text == "else":
            self.skip_lines()
            self.advance()
            if self.here.text == "if":
                self.advance()
                self.skip_header()
            self.skip_block()
        raise Mistake(CONTROL[word.text], word.start, word.end)

    def statement(self) -> tuple[WrittenStatement, ...]:
        if self.here.text in CONTROL and self.following.text != ".":
            self.control()
        if self.here.text in IGNORED and self.following.text != ".":
            self.skip_statement()
            return ()
        while self.here.text in QUALIFIERS and self.following.kind == "word":
            self.advance()
        if self.here.text == NUMBER and self.following.kind == "word":
            self.advance()
            self.separated(self.declared_number)
            return ()
        if self.assigns:
            self.assignment()
            return ()
        if self.here.text in DECLARING and self.following.kind == "word":
            return self.declarations()
        return (self.chain(),)

    def chain(self) -> Chain:
        head = self.head()
        calls = []
        before = len(self.mistakes)
        while self.accept("."):
            start = self.index
            try:
                calls.append(self.applied(self.single("a directive after '.'")))
            except Mistake as mistake:
                # The rest of the chain is read on, to find its mistakes as well.
                self.mistakes.append(mistake)
                self.index = start
                self.skip_parentheses()
        if not calls and len(self.mistakes) == before:
            self.end_of_statement()
            raise Mistake(
                f"Expected directives, as in {head.text}.compute_root().", head.start, head.end
            )
        return Chain(head, tuple(calls))

    def head(self) -> Word:
        """The Func that a statement is about: ``f``, ``Func(f)`` or ``pyramid[1]``."""
        if self.here.text == "Func" and self.following.text == "(":
            start = self.advance().start
            self.advance()
            inner = self.single("the name of a Func")
            return evolve(inner, start=start, end=self.expect(")", f"Func({inner.text}").end)
        return self.element(self.single("the name of a Func"))

    def element(self, word: Word) -> Word:
        """``pyramid[1]``, where an index follows a name."""
        if word.quoted or self.here.text != "[":
            return word
        bracket = self.advance()
        with self.inside(bracket):
            index = self.sum()
        end = self.expect("]", f"{word.text}[{index}").end
        return Word(f"{word.text}[{index}]", False, word.start, end)

    def declarations(self) -> tuple[Declaration, ...]:
        kind = self.advance().text
        return self.separated(lambda: self.declarator(kind))

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
        """A chain up to the end of its declaration. Reads nothing if no chain follows."""
        start, known = self.index, len(self.mistakes)
        try:
            chain = self.chain()
        except Mistake:
            chain = None
        ends = self.is_at_end or self.here.text in (",", ";")
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

    def applied(self, name: Word) -> Applied:
        bracket = self.expect("(", f"directive {name.text}")
        if name.text in CONDITIONAL and not name.quoted:
            code = self.code()
            return Applied(name, (code,), name.start, self.expect(")", "the condition").end)
        with self.inside(bracket):
            args = () if self.here.text == ")" else self.separated(self.item)
        end = self.expect(")", f"the arguments of {name.text}").end
        return Applied(name, args, name.start, end)

    def code(self) -> Code:
        """All up to the parenthesis that closes the one before."""
        start, end, depth = self.here.start, self.here.start, 0
        while not self.is_at_end:
            depth += (self.here.text in OPEN) - (self.here.text in CLOSE)
            if depth < 0:
                break
            end = self.advance().end
        return Code(self.source[start:end], start, end)

    def item(self) -> Item:
        token = self.here
        if self.is_number:
            return Whole(self.sum(), token.start, self.tokens[self.index - 1].end)
        if self.accept("{"):
            with self.inside(token):
                items = () if self.here.text == "}" else self.separated(self.item)
            return Braces(items, token.start, self.expect("}", "the names in braces").end)
        name = self.element(self.name("a loop, a Func or a number"))
        if self.here.text == "(" and not name.quoted:
            one = self.applied(name)
            func, dot, verb = name.text.rpartition(".")
            if not dot or verb not in REFERRING:
                return one
            head = Word(func, False, name.start, name.end)
            return self.reference(head, (evolve(one, name=evolve(name, text=verb)),))
        if self.here.text in ("*", "/", "+", "-") and not name.quoted:
            message = f"{name.text} is no number declared before, as in const int {name.text} = 8."
            raise Mistake(message, name.start, name.end)
        return self.reference(name, ()) if self.here.text == "." else name

    def reference(self, head: Word, calls: tuple[Applied, ...]) -> StageReference:
        """``f.in().update(0)``: a Func or one of its stages."""
        while self.accept("."):
            calls = (*calls, self.applied(self.single("in or update after '.'")))
        return StageReference(head, calls, head.start, calls[-1].end)

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
        if end - first.start > LONGEST_WORD:
            message = f"This name is too long; one has at most {LONGEST_WORD} characters."
            raise Mistake(message, first.start, end)
        return Word(".".join(parts), False, first.start, end)
