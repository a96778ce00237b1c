"""``spaces prove``: proves a schedule for every image size, or shows a size at which it fails."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from attrs import define, field

from spaces.apps.catalog import find
from spaces.apps.command_line.checking import faultless, refusal
from spaces.apps.command_line.console import heading, line, table
from spaces.apps.command_line.options import (
    AppName,
    DeviceName,
    Exact,
    ScheduleFile,
    find_device,
    given_schedule,
)
from spaces.apps.command_line.program import AsJson, command
from spaces.apps.command_line.progress import Reporter
from spaces.apps.command_line.proving import Findings, all_obligations, prove_schedule
from spaces.apps.errors import CommandError, WrongUsage
from spaces.apps.files import make_folder
from spaces.backend.replay import Replay
from spaces.constraints.devices.device import Device
from spaces.constraints.legality.verdict import Illegal
from spaces.constraints.obligations.records import (
    Counterexample,
    Obligation,
    Outcome,
    Proof,
    ProofReport,
    Proven,
    Refuted,
    Unknown,
)
from spaces.constraints.proofs.certificates import recheck as recheck_certificates
from spaces.constraints.proofs.certificates import write_certificates
from spaces.constraints.proofs.prove import SECONDS
from spaces.model.amounts import amount, named_numbers
from spaces.model.writing.written import WrittenSchedule

UNDECIDED = 3
"""The exit status if no obligation is refuted, but at least one is not proven."""

Folder = Annotated[
    Path | None,
    typer.Option("--certificates", help="Write each obligation as SMT-LIB text into this folder."),
]
Checked = Annotated[
    Path | None,
    typer.Option(
        "--recheck",
        help="Give the certificates in this folder to the solver again, without new proofs.",
    ),
]
Seconds = Annotated[
    float, typer.Option("--seconds", min=0, help="Stop the proofs after this time.")
]


@command(
    "prove",
    "Prove that a schedule is right for every image size.",
    "prove blur --schedule cpu",
    "prove unsharp --schedule gpu --device sm_80 --certificates out/proofs",
    "prove unsharp --schedule gpu --device sm_80 --recheck out/proofs",
)
def prove(
    app: AppName,
    schedule: ScheduleFile,
    device: DeviceName = "cpu",
    exact: Exact = False,
    as_json: AsJson = False,
    certificates: Folder = None,
    recheck: Checked = None,
    seconds: Seconds = SECONDS,
) -> None:
    """Prove for every image size that a schedule reads only computed values, stays in its
    buffers and has no race. Exit 0 if all obligations are proven, 1 if one is refuted or the
    schedule is illegal, 3 if one is unknown.
    """
    found = find(app)
    pipeline = found.pipeline()
    target = find_device(device)
    given = given_schedule(found, pipeline, schedule)
    chosen = faultless(pipeline, given, target)
    if recheck is not None:
        asked = all_obligations(pipeline, chosen, target)
        raise typer.Exit(_check_again(recheck, asked, as_json))
    if certificates is not None:
        make_folder(certificates)  # proofs may take long
    with Reporter(seconds) as reporter:
        watch = _Watch(reporter).see
        findings = prove_schedule(pipeline, chosen, target, seconds, exact=exact, watch=watch)
    if certificates is not None and findings.report is not None:
        _write(findings.report, certificates)
    if as_json:
        line(json.dumps(_json(findings), indent=2))
    else:
        _tell(findings, target, given.written)
    raise typer.Exit(_status(findings))


@define
class _Watch:
    """Counts proofs by their outcome, and shows the counts."""

    reporter: Reporter
    decided: Counter[str] = field(factory=Counter)

    def see(self, proof: Proof) -> None:
        """Counts one proof."""
        self.decided[_word(proof.outcome)] += 1
        funnel = {"obligations considered": self.decided.total(), **self.decided}
        self.reporter.show(f"proving {proof.obligation.kind} of {proof.obligation.func}", funnel)


def _status(findings: Findings) -> int:
    if not findings.verdict.legal or findings.report is None or findings.report.refuted:
        return 1
    return UNDECIDED if findings.report.unknown or findings.without_barriers else 0


def _write(report: ProofReport, folder: Path) -> None:
    try:
        write_certificates(report, folder)
    except OSError as error:
        raise CommandError(f"Cannot write certificates to {folder}: {error.strerror}.") from None


def _check_again(folder: Path, asked: Sequence[Obligation], as_json: bool) -> int:
    """Prints the certificates of a folder as a table; returns the exit status."""
    if not asked:
        raise WrongUsage("The schedule has no loop nest, so it has no certificates.")
    try:
        answers = recheck_certificates(folder, asked)
    except OSError as error:
        raise WrongUsage(str(error)) from None
    refused = [a for a in answers if not a.accepted]
    if as_json:
        rows = [
            {"file": a.file, "expected": a.expected, "found": a.found, "accepted": a.accepted}
            for a in answers
        ]
        line(json.dumps(rows, indent=2))
    else:
        states = {True: "accepted", False: "refused"}
        rows_shown = [(a.file, a.expected, a.found, states[a.accepted]) for a in answers]
        table(("certificate", "expected", "found", ""), rows_shown)
        line(f"{len(answers)} certificates, {len(refused)} refused.")
    expected = {a.expected for a in answers}
    if refused or "sat" in expected:
        return 1
    return UNDECIDED if "unknown" in expected else 0


def _tell(findings: Findings, device: Device, written: WrittenSchedule) -> None:
    verdict, report = findings.verdict, findings.report
    if isinstance(verdict, Illegal):
        line(refusal(verdict.violations, device, written))
    if report is None:
        line("The schedule has no loop nest, so there is nothing to prove.")
        return
    if isinstance(verdict, Illegal):
        line("Proofs of its loop nest, though the schedule is illegal:")
    table(("kind", "what must hold", "proven", "ms"), map(_row, report.proofs))
    line(_summary(report))
    if findings.without_barriers:
        line(findings.without_barriers)
    for proof in report.unknown:
        assert isinstance(proof.outcome, Unknown)
        expression = proof.outcome.expression
        line(f"Unknown: {proof.obligation.statement}")
        line(
            f"  {proof.outcome.reason}"
            + (f" The expression is `{expression}`." if expression else "")
        )
    for proof in report.refuted:
        assert isinstance(proof.outcome, Refuted)
        line(f"Refuted: {proof.obligation.statement}")
        line(f"  It fails for {proof.outcome.counterexample}.")
    for run in findings.replays:
        heading(f"Run unchecked for {named_numbers(run.sizes)}:")
        line("\n".join(f"  {sentence}" for sentence in str(run).splitlines()))


def _row(proof: Proof) -> tuple[object, ...]:
    """Kind, statement (which names the Func), outcome, and milliseconds."""
    by = proof.outcome.by if isinstance(proof.outcome, Proven) else ""
    went = f"by {by}" if by else _word(proof.outcome)
    return proof.obligation.kind, proof.obligation.statement, went, round(proof.seconds * 1000, 1)


def _word(outcome: Outcome) -> str:
    match outcome:
        case Proven():
            return "proven"
        case Refuted():
            return "refuted"
        case Unknown():
            return "unknown"


def _summary(report: ProofReport) -> str:
    by_solver = sum(p.outcome == Proven("solver") for p in report.proven)
    return (
        f"{amount(len(report.proofs), 'obligation')}: {len(report.proven)} proven ({by_solver} by "
        "the "
        f"solver), {len(report.refuted)} refuted, {len(report.unknown)} unknown, in "
        f"{report.seconds:.2f} s ({report.solver_seconds:.2f} s in the solver)."
    )


def _json(findings: Findings) -> dict[str, Any]:
    """The findings as a dictionary of JSON's types."""
    report = findings.report
    return {
        **findings.verdict.json(),
        "obligations": None if report is None else [_proof(p) for p in report.proofs],
        "seconds": None if report is None else report.seconds,
        "solver_seconds": None if report is None else report.solver_seconds,
        "without_barriers": findings.without_barriers,
        "replays": [_replay(run) for run in findings.replays],
    }


def _proof(proof: Proof) -> dict[str, Any]:
    obligation, outcome = proof.obligation, proof.outcome
    shared: dict[str, Any] = {
        "kind": obligation.kind,
        "func": obligation.func,
        "stage": obligation.stage,
        "statement": obligation.statement,
        "outcome": _word(outcome),
        "seconds": proof.seconds,
        "solver_seconds": proof.solver_seconds,
    }
    match outcome:
        case Proven(by=by):
            return {**shared, "by": by}
        case Refuted(counterexample=found):
            return {**shared, "counterexample": _counterexample(found)}
        case Unknown(reason=reason, expression=expression):
            return {**shared, "reason": reason, "expression": expression}


def _counterexample(found: Counterexample) -> dict[str, Any]:
    return {
        "sizes": found.sizes,
        "iteration": found.iteration,
        "other": found.other,
        "buffer": found.buffer,
        "coordinate": list(found.coordinate),
    }


def _replay(run: Replay) -> dict[str, Any]:
    return {
        "sizes": dict(run.sizes),
        "shows_a_mistake": run.shows_a_mistake,
        "text": str(run).splitlines(),
    }
