"""Obligations and the results of their proofs.

An obligation is one statement about a loop nest for all sizes at once. Its formulas are booleans of
the expression language over named int32 variables, read as mathematical integers. The only
assumption is that coordinates, sizes and int32 parameters do not overflow; a value that may wrap is
a variable of its own. Extents of buffers (``out.extent.0``) are at least 1.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeAlias

from attrs import field, frozen

from spaces.markup.card import Card, Style, Styled, card, few, paragraph
from spaces.markup.shows_card import ShowsCard
from spaces.model.amounts import amount, named_numbers
from spaces.model.expressions.expr import Expr
from spaces.model.showing import few_lines

ObligationKind: TypeAlias = Literal[
    "bounds", "coverage", "sliding", "folding", "race", "order", "definition", "barrier"
]


@frozen(repr=False)
class Obligation:
    """``goal`` must hold whenever all ``hypotheses`` do.

    Attributes:
        kind: the kind of mistake that it excludes.
        func: the Func whose schedule or definition it concerns.
        stage: 0 for the pure stage of ``func``, n for its update n - 1.
        statement: one line in words, naming Funcs and loops.
        hypotheses: the known conditions, above all the ranges of the variables.
        goal: the condition that must follow.
        buffer: the Func or image whose storage is concerned.
        coordinate: the place in ``buffer``, one expression for each dimension, innermost first.
        sizes: names of the variables that a call fixes: sizes, parameters of the pipeline and of a
            family of schedules.
        iteration: names of loop variables.
        other: the loop variables of a second iteration, each with the loop variable that it copies.
        opaque: variables for values that the formulas cannot express (a value read from an image, a
            float), each with its expression. If one is involved, a failed proof is not a
            refutation.
        exact: whether a counterexample to this formula is a mistake of the nest. If not, the
            formula is only sufficient, and a run of the nest must confirm a counterexample.
    """

    kind: ObligationKind
    func: str
    stage: int
    statement: str
    hypotheses: tuple[Expr, ...]
    goal: Expr
    buffer: str
    coordinate: tuple[Expr, ...] = ()
    sizes: tuple[str, ...] = ()
    iteration: tuple[str, ...] = ()
    other: tuple[tuple[str, str], ...] = ()
    opaque: tuple[tuple[str, Expr], ...] = ()
    exact: bool = True

    def __str__(self) -> str:
        return self.statement

    def __repr__(self) -> str:
        return f"<Obligation {self.kind} of {self.func}: {self.statement}>"


@frozen
class Counterexample:
    """A case in which an obligation fails.

    Attributes:
        sizes: the sizes and parameters of the call, by name.
        iteration: the loop variables, by name.
        other: the loop variables of the second iteration, by the name of the first one's.
        buffer: the Func or image whose storage is concerned.
        coordinate: the place in it, innermost first.
    """

    sizes: dict[str, int]
    iteration: dict[str, int]
    other: dict[str, int]
    buffer: str
    coordinate: tuple[int, ...]

    def __str__(self) -> str:
        """``blurx(3, 4) at out.s0.y = 1 for out.extent.0 = 8``."""
        place = f"{self.buffer}({', '.join(map(str, self.coordinate))})"
        at = [named_numbers(self.iteration), named_numbers(self.other)]
        where = " and ".join(text for text in at if text)
        sizes = named_numbers(self.sizes)
        return place + (f" at {where}" if where else "") + (f" for {sizes}" if sizes else "")


@frozen
class Proven:
    """The obligation holds for all sizes; ``by`` interval arithmetic alone, or by the solver."""

    by: Literal["intervals", "solver"]


@frozen
class Refuted:
    """The obligation fails; the counterexample says where."""

    counterexample: Counterexample


@frozen
class Unknown:
    """The obligation is undecided: ``reason`` is a sentence, ``expression`` the text of the
    expression at fault, empty without such an expression.
    """

    reason: str
    expression: str = ""


Outcome: TypeAlias = Proven | Refuted | Unknown

_ANSWERS: Mapping[type[Outcome], tuple[Style, str]] = {
    Proven: ("ok", "proven"),
    Refuted: ("bad", "refuted"),
    Unknown: ("open", "unknown"),
}
"""How a card marks each kind of outcome."""


@frozen
class Proof(ShowsCard):
    """One obligation, its result, and the time that it took.

    Attributes:
        seconds: the wall time of the decision.
        solver_seconds: the part of it that the solver took.
    """

    obligation: Obligation
    outcome: Outcome
    seconds: float
    solver_seconds: float = 0.0

    def _card(self) -> Card:
        answer = Styled(*_ANSWERS[type(self.outcome)])
        told = str(self).removeprefix(answer.text)
        return card("Proof", self.obligation.kind, paragraph(answer, told))

    def __str__(self) -> str:
        match self.outcome:
            case Proven(by=by):
                return f"proven by {'the solver' if by == 'solver' else by}: {self.obligation}"
            case Refuted(counterexample=witness):
                return f"refuted: {self.obligation} At {witness}."
            case Unknown(reason=reason):
                return f"unknown: {self.obligation} {reason}"


@frozen(repr=False)
class ProofReport(ShowsCard):
    """The proofs about one loop nest. A proven obligation holds for all calls in which arithmetic
    of coordinates stays within int32 (``docs/language.md``).

    Attributes:
        proofs: one for each obligation, in the order of the nest.
        seconds: the wall time of all proofs, including the making of the obligations.
    """

    proofs: tuple[Proof, ...]
    seconds: float = field(default=0.0)

    def __str__(self) -> str:
        lines = [f"{self._summary}."]
        lines += map(str, (*self.refuted, *self.unknown))
        return few_lines(lines, rest="obligations that are not proven")

    def _card(self) -> Card:
        answers: list[str | Styled] = [Styled("ok", f"{len(self.proven):,} proven")]
        answers += [", ", Styled("bad", f"{len(self.refuted):,} refuted")] * bool(self.refuted)
        answers += [", ", Styled("open", f"{len(self.unknown):,} unknown")] * bool(self.unknown)
        told = ((str(proof),) for proof in (*self.refuted, *self.unknown))
        about = f"{amount(len(self.proofs), 'obligation')} in {self.seconds:.2f} s"
        return card("Proofs", about, paragraph(*answers), few(told, 8, "obligations"))

    def __repr__(self) -> str:
        return f"<ProofReport: {self._summary}>"

    @property
    def _summary(self) -> str:
        parts = [f"{len(self.proven)} of {len(self.proofs)} proven"]
        parts += [f"{len(self.refuted)} refuted"] * bool(self.refuted)
        parts += [f"{len(self.unknown)} unknown"] * bool(self.unknown)
        return ", ".join(parts)

    @property
    def proven(self) -> tuple[Proof, ...]:
        """The proofs of obligations that hold for all sizes."""
        return tuple(p for p in self.proofs if isinstance(p.outcome, Proven))

    @property
    def refuted(self) -> tuple[Proof, ...]:
        """The proofs of obligations that fail, each with a counterexample."""
        return tuple(p for p in self.proofs if isinstance(p.outcome, Refuted))

    @property
    def unknown(self) -> tuple[Proof, ...]:
        """The proofs of undecided obligations."""
        return tuple(p for p in self.proofs if isinstance(p.outcome, Unknown))

    @property
    def solver_seconds(self) -> float:
        """The time that the solver took, out of ``seconds``."""
        return sum(p.solver_seconds for p in self.proofs)
