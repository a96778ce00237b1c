"""One case: a mutated text or document, and what becomes of it."""

from __future__ import annotations

import random
import tempfile
import traceback
from collections.abc import Callable
from pathlib import Path

from attrs import frozen
from typer.testing import CliRunner

from spaces.apps.catalog import APPS
from spaces.apps.command_line.program import STATUSES, program
from spaces.constraints.devices.device import device
from spaces.constraints.legality.verify import verify, verify_rest
from spaces.constraints.proofs.certificates import recheck
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.schedules.schedule import Schedule
from spaces.model.text_limits import LONGEST_SCHEDULE
from spaces.model.writing.serialize import DocumentError, from_json, to_json
from spaces.model.writing.syntax_error import ScheduleSyntaxError
from spaces.model.writing.text import format_schedule, parse_schedule, read_schedule
from tests.text_fuzz.mutations import mutated_document, mutated_text
from tests.text_fuzz.seeds import (
    LARGE,
    RECORDS,
    Seed,
    certificates,
    documents,
    pipeline_of,
    schedules,
)

VECTOR_BITS = 256
LONGEST_MESSAGE = 1_000_000
COMMANDS_EVERY = 100
"""Of so many texts one goes through the commands, too."""

COMMANDS = ("verify", "show", "prove", "complete")


class Wrong(AssertionError):
    """A text ended in something else than a value or a sentence."""


@frozen
class Case:
    """A mutated text.

    Attributes:
        kind: as of a seed; ``command`` for a schedule that goes through the commands.
        seed: the name of what was changed.
        subject: the pipeline that it is read for, which may be another one than it was about.
    """

    kind: str
    seed: str
    subject: str
    text: str


def draw_case(seed: int, number: int, family: str) -> Case:
    """Case ``number`` of the texts (``text``) or of the documents (``json``)."""
    draw = random.Random(f"{seed}/{family}/{number}")
    if family == "json":
        known = documents()
        one = draw.choice(known)
        others = [draw.choice(known).text[:5000] for _ in range(3)]
        return Case(one.kind, one.name, one.subject, mutated_document(draw, one.text, others))
    if draw.random() < 0.02:
        one = draw.choice(certificates())
        return Case(one.kind, one.name, one.subject, mutated_text(draw, one.text, [one.text]))
    is_command = number % COMMANDS_EVERY == 0
    one = draw.choice(_commanded() if is_command else schedules())
    others = [draw.choice(schedules()).text for _ in range(3)]
    subject = one.subject
    if draw.random() < 0.05 and not is_command:
        subject = draw.choice(schedules()).subject
    kind = "command" if is_command else "sched"
    return Case(kind, one.name, subject, mutated_text(draw, one.text, others))


def _commanded() -> list[Seed]:
    small = set(APPS) - LARGE
    return [seed for seed in schedules() if seed.subject in small]


def check(case: Case) -> str:
    """What became of a case, in a word.

    Raises:
        Exception: something that is no documented answer.
    """
    return _CHECKS[case.kind](case)


def _check_schedule_text(case: Case) -> str:
    algorithm = pipeline_of(case.subject)
    target = device("sm_80" if "gpu" in case.seed else "cpu")
    written = read_schedule(case.text, algorithm, VECTOR_BITS)
    if written.problems:
        _told(str(ScheduleSyntaxError(written.problems)))
        for problem in written.problems:
            _require(problem.line >= 1 and problem.column >= 1, f"{problem} is nowhere")
        for violation in verify_rest(algorithm, written.schedule, target, written.unread):
            _told(str(violation))
        return "refused"
    return _judged(algorithm, written.schedule, case)


def _judged(algorithm: Pipeline, given: Schedule, case: Case) -> str:
    target = device("sm_80" if "gpu" in case.seed else "cpu")
    text = format_schedule(given, algorithm)
    if len(text) > LONGEST_SCHEDULE:
        return "of too long a text"
    verdict = verify(algorithm, given, target)
    if not verdict.legal and any(v.rule == "specialize.condition" for v in verdict.violations):
        return "of conditions without a text"
    _require(parse_schedule(text, algorithm) == given, f"{text!r} is read as another schedule")
    _require(from_json(to_json(given), Schedule) == given, "another schedule comes from its JSON")
    _told(str(verdict))
    if not verdict.legal:
        _require(bool(verdict.violations), "illegal without a violation")
        for violation in verdict.violations:
            _told(str(violation))
    return "legal" if verdict.legal else "illegal"


def _check_certificate(case: Case) -> str:
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "0001-reads-f.smt2").write_text(
            case.text, "utf-8", errors="surrogateescape"
        )
        checks = recheck(Path(folder), timeout_ms=200)
    for one in checks:
        _told(str(one))
    return "accepted" if all(one.accepted for one in checks) else "refused"


def _check_document(case: Case) -> str:
    kind = RECORDS[case.kind]
    try:
        record = from_json(case.text, kind)
    except DocumentError as error:
        _told(str(error))
        return "refused"
    _require(from_json(to_json(record), kind) == record, "another record comes from its JSON")
    if isinstance(record, Schedule):
        algorithm = pipeline_of(case.subject)
        try:
            format_schedule(record, algorithm)
        except ValueError as error:
            _told(str(error))
            verify(algorithm, record, device("cpu"))
            return "of no such Funcs"
        return _judged(algorithm, record, case)
    return _judged(record, Schedule.default(record), case)


def _check_commands(case: Case) -> str:
    number = sum(map(ord, case.text)) % len(COMMANDS)
    command = COMMANDS[number]
    options = {"prove": ["--seconds", "2"], "complete": ["--limit", "2"]}.get(command, [])
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "mutated.sched"
        file.write_text(case.text, "utf-8", errors="surrogateescape")
        asked = [command, case.subject, "--schedule", str(file), *options]
        result = CliRunner().invoke(program, asked, catch_exceptions=False)
    _require(result.exit_code in STATUSES, f"{command} ends with {result.exit_code}")
    _told(result.output)
    if result.exit_code == 2:
        _require(bool(result.stderr.strip()), f"{command} says nothing of the mistake")
    return f"{command} ends with {result.exit_code}"


_CHECKS: dict[str, Callable[[Case], str]] = {
    "sched": _check_schedule_text,
    "certificate": _check_certificate,
    "command": _check_commands,
    **dict.fromkeys(RECORDS, _check_document),
}


def _told(text: str) -> None:
    """A message for a person."""
    _require(bool(text.strip()), "nothing is said")
    _require(len(text) < LONGEST_MESSAGE, f"{len(text)} characters are said")
    _require("Traceback (most recent" not in text, text)


def _require(holds: bool, otherwise: str) -> None:
    if not holds:
        raise Wrong(otherwise)


def told_error(error: BaseException) -> str:
    """An error and where it is from, in a few lines."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [f for f in frames if "/spaces/" in f.filename or "/apps/" in f.filename] or frames
    place = f"{Path(own[-1].filename).name}:{own[-1].lineno} {own[-1].name}" if own else "?"
    return f"{type(error).__name__} at {place}: {str(error)[:300]}"
