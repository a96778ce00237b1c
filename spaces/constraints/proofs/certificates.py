"""Certificates: the obligations as SMT-LIB text, which any solver can check again.

A certificate asks for a counterexample: it is unsatisfiable exactly where the obligation holds for
all sizes.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import z3
from attrs import frozen

from spaces.constraints.proofs.decide import question
from spaces.constraints.proofs.records import (
    Obligation,
    Outcome,
    Proof,
    ProofReport,
    Proven,
    Refuted,
)
from spaces.constraints.reasoning.terms import Terms

RECHECK_MS = 10_000
"""How long the solver may take to check one certificate again."""


@frozen
class Recheck:
    """One certificate, asked again.

    Attributes:
        file: its name.
        expected: what it says that a solver answers: unsat, sat or unknown.
        found: what a solver answers, or what is wrong with the file.
    """

    file: str
    expected: str
    found: str

    @property
    def accepted(self) -> bool:
        """Whether the answer is as expected; where nothing was found out, none is."""
        return self.expected in (self.found, "unknown")

    def __str__(self) -> str:
        state = "accepted" if self.accepted else "refused"
        return f"{self.file}: {state} (expected {self.expected}, found {self.found})"


def certificate(proof: Proof) -> str:
    """An obligation as SMT-LIB text; comments at its head say what it is about."""
    obligation = proof.obligation
    solver, _ = question(obligation, Terms())
    head = {
        "kind": obligation.kind,
        "statement": _one_line(obligation),
        "expected": _expected(proof.outcome),
        "assertions": len(solver.assertions()),
    }
    lines = [f"; {name}: {text}" for name, text in head.items()]
    return "\n".join([*lines, solver.to_smt2()])


def write_certificates(report: ProofReport, folder: Path) -> tuple[Path, ...]:
    """A file for each proof, in ``folder``, which is made where it does not exist."""
    folder.mkdir(parents=True, exist_ok=True)
    total = len(report.proofs)
    written = []
    for number, proof in enumerate(report.proofs, start=1):
        func = re.sub(r"\W", "_", proof.obligation.func)
        path = folder / f"{number:04}-{proof.obligation.kind}-{func}.smt2"
        part = path.with_suffix(".part")  # a certificate is whole, or there is none
        part.write_text(f"; number: {number} of {total}\n{certificate(proof)}", encoding="utf-8")
        part.replace(path)
        written.append(path)
    return tuple(written)


def recheck(
    folder: Path, obligations: Sequence[Obligation] = (), *, timeout_ms: int = RECHECK_MS
) -> tuple[Recheck, ...]:
    """Ask every certificate of a folder again, in a solver that knows nothing of its making.

    Args:
        folder: where :func:`write_certificates` wrote them.
        obligations: what the certificates are to be about, in order, as
            :func:`~spaces.constraints.proofs.prove.obligations` gives them; one that is about
            anything else, or missing, is refused. Where none are given, the certificates are only
            held to what they say themselves.
        timeout_ms: how long the solver may take for each.

    Raises:
        FileNotFoundError: the folder holds no certificates.
    """
    files = sorted(folder.glob("*.smt2"))
    if not files:
        raise FileNotFoundError(f"There are no certificates (*.smt2) in {folder}.")
    context = z3.Context()
    checks, numbers, total = [], set(), len(obligations)
    for path in files:
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            checks.append(Recheck(path.name, "unsat", "no text"))
            continue
        number = re.search(r"^; number: (\d{1,6}) of (\d{1,6})$", text, re.MULTILINE)
        if number is not None:
            numbers.add(int(number[1]))
            total = max(total, int(number[2]))
        index = 0 if number is None else int(number[1])
        if obligations and not (
            0 < index <= len(obligations) and _asks(text, obligations[index - 1], context)
        ):
            checks.append(Recheck(path.name, "unsat", "another question than the schedule's"))
            continue
        checks.append(_rechecked(path.name, text, context, timeout_ms))
    missing = sorted(set(range(1, total + 1)) - numbers)
    return (*checks, *(Recheck(f"{n:04}-*.smt2", "unsat", "no such file") for n in missing))


def _asks(text: str, obligation: Obligation, context: z3.Context) -> bool:
    """Whether a certificate asks what ``obligation`` does, and says so; compared as terms of one
    context, for names of shared parts differ from one text to the next.
    """
    wanted, _ = question(obligation, Terms())
    try:
        mine, other = (_parsed(part, context).assertions() for part in (wanted.to_smt2(), text))
    except z3.Z3Exception:
        return False
    same = len(mine) == len(other) and all(a.eq(b) for a, b in zip(mine, other, strict=True))
    return same and f"\n; statement: {_one_line(obligation)}\n" in text


def _parsed(text: str, context: z3.Context) -> z3.Solver:
    solver = z3.Solver(ctx=context)
    solver.from_string(text)
    return solver


def _one_line(obligation: Obligation) -> str:
    return " ".join(obligation.statement.split())


def _rechecked(name: str, text: str, context: z3.Context, timeout_ms: int) -> Recheck:
    expected = re.search(r"^; expected: (unsat|sat|unknown)$", text, re.MULTILINE)
    if expected is None:
        return Recheck(name, "unsat", "no line that says what to expect")
    try:
        solver = _parsed(text, context)
    except z3.Z3Exception as error:
        return Recheck(name, expected[1], f"no SMT-LIB text ({_first_line(error)})")
    if (
        f"\n; assertions: {len(solver.assertions())}\n" not in text
    ):  # a parser skips what it ignores
        return Recheck(name, expected[1], "another number of assertions than it says")
    solver.set("timeout", timeout_ms)
    return Recheck(name, expected[1], str(solver.check()))


def _first_line(error: z3.Z3Exception) -> str:
    value = error.value
    text = value.decode() if isinstance(value, bytes) else str(value)
    return text.strip().splitlines()[0]


def _expected(outcome: Outcome) -> str:
    if isinstance(outcome, Proven):
        return "unsat"
    return "sat" if isinstance(outcome, Refuted) else "unknown"
