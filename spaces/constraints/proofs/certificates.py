"""Certificates: obligations as SMT-LIB text that any solver can check again.

A certificate asks for a counterexample: it is unsatisfiable exactly if the obligation holds for all
sizes.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import z3
from attrs import frozen

from spaces.constraints.obligations.decide import question
from spaces.constraints.obligations.records import (
    Obligation,
    Outcome,
    Proof,
    ProofReport,
    Proven,
    Refuted,
)
from spaces.constraints.reasoning.terms import Terms
from spaces.model.formulas.smt import answer

RECHECK_MS = 10_000
"""The time limit for checking one certificate again."""


@frozen
class Recheck:
    """The result of checking one certificate again.

    Attributes:
        file: the name of its file.
        expected: the answer that the certificate names: unsat, sat or unknown.
        found: the solver's answer, or the fault of the file.
    """

    file: str
    expected: str
    found: str

    @property
    def accepted(self) -> bool:
        """Whether the answer is the expected one; never for an unknown answer."""
        return self.expected in (self.found, "unknown")

    def __str__(self) -> str:
        state = "accepted" if self.accepted else "refused"
        return f"{self.file}: {state} (expected {self.expected}, found {self.found})"


def certificate(proof: Proof) -> str:
    """An obligation as SMT-LIB text; comments at its head describe it."""
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
    """Writes a file for each proof into ``folder``; makes the folder if it does not exist."""
    folder.mkdir(parents=True, exist_ok=True)
    total = len(report.proofs)
    written = []
    for number, proof in enumerate(report.proofs, start=1):
        func = re.sub(r"\W", "_", proof.obligation.func)
        path = folder / f"{number:04}-{proof.obligation.kind}-{func}.smt2"
        part = path.with_suffix(".part")  # a certificate is complete, or absent
        part.write_text(f"; number: {number} of {total}\n{certificate(proof)}", encoding="utf-8")
        part.replace(path)
        written.append(path)
    return tuple(written)


def recheck(
    folder: Path, obligations: Sequence[Obligation] = (), *, timeout_ms: int = RECHECK_MS
) -> tuple[Recheck, ...]:
    """Checks every certificate of a folder again, in a solver of its own.

    Args:
        folder: where :func:`write_certificates` wrote them.
        obligations: the expected subjects in order, as
            :func:`~spaces.constraints.proofs.prove.obligations` gives them; a certificate about
            something else, or a missing one, is refused. Without them, each certificate is only
            compared with the answer that it names.
        timeout_ms: the time limit of the solver for each.

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
    """Whether a certificate asks the question of ``obligation`` and states it. Compares terms of
    one context, because names of shared parts differ between texts.
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
    ):  # a parser skips text that it does not understand
        return Recheck(name, expected[1], "another number of assertions than it says")
    return Recheck(name, expected[1], str(answer(solver, timeout_ms=timeout_ms)))


def _first_line(error: z3.Z3Exception) -> str:
    value = error.value
    text = value.decode() if isinstance(value, bytes) else str(value)
    return text.strip().splitlines()[0]


def _expected(outcome: Outcome) -> str:
    if isinstance(outcome, Proven):
        return "unsat"
    return "sat" if isinstance(outcome, Refuted) else "unknown"
