"""``spaces prove``: proofs, refutations with what happens at run time, certificates, exit codes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import Result
from typer.testing import CliRunner

from spaces import APPS, CheckedSchedule, device, parse_schedule, verify
from spaces.apps.command_line.program import program
from spaces.apps.command_line.proving import MEANINGLESS, all_obligations, prove_schedule
from spaces.constraints.examples.catalogue import EXAMPLES
from spaces.constraints.examples.example import Example
from spaces.model.expressions.expr import Const, walk
from tests.clocks import Clock

FOLDED = "blur_x.store_root().compute_at(blur_y, y).fold_storage(y, 2)"


def prove(*words: str | Path) -> Result:
    return CliRunner().invoke(program, ["prove", *map(str, words)])


@pytest.fixture
def folded(tmp_path: Path) -> Path:
    """A file with a schedule that keeps too few rows."""
    path = tmp_path / "folded.sched"
    path.write_text(FOLDED)
    return path


def test_what_is_proven_is_a_table_with_a_summary() -> None:
    result = prove("blur", "--schedule", "cpu")
    assert result.exit_code == 0, result.output
    *rows, summary = result.output.splitlines()
    assert rows[0].split() == ["kind", "what", "must", "hold", "proven", "ms"]
    count = len(rows) - 1
    assert summary.startswith(f"{count} obligations: {count} proven (")
    assert "0 refuted, 0 unknown, in " in summary
    assert " s in the solver)." in summary
    assert {row.split()[0] for row in rows[1:]} >= {"bounds", "coverage", "sliding", "folding"}


def test_barriers_of_kernels_are_in_the_table() -> None:
    result = prove("harris", "--schedule", "gpu", "--device", "sm_80")
    assert result.exit_code == 0, result.output
    assert "All threads of a block of corners_kernel reach its barrier 1 together." in result.output
    wanted = "A barrier stands between threads that write a place of gray and others that read it"
    assert f"{wanted} for ix." in result.output


def test_a_refutation_is_run_and_the_wrong_value_told(folded: Path) -> None:
    result = prove("blur", "--schedule", folded)
    assert result.exit_code == 1
    assert "storage.fold-too-small" in result.output
    assert "overwrites no value still to be read" in result.output
    assert "It fails for blur_x(0, -1) at blur_y.s0.y = 0, blur_y.s0.x = 0" in result.output
    assert "its place holds blur_x(0, 1), written into it since" in result.output
    assert "where the reference has" in result.output


def test_what_stands_for_no_program_has_no_proofs(tmp_path: Path) -> None:
    path = tmp_path / "unknown.sched"
    path.write_text("blur_y.parallel(z)")
    result = prove("blur", "--schedule", path)
    assert result.exit_code == 1
    assert "order.unknown-loop" in result.output
    assert "The schedule has no loop nest, so there is nothing to prove." in result.output


def test_what_is_unknown_is_said_plainly() -> None:
    result = prove("blur", "--schedule", "default", "--seconds", "0")
    assert result.exit_code == 3
    assert "Unknown: " in result.output
    assert "The time for all proofs was up." in result.output
    assert "0 proven" in result.output


def test_json_has_all_of_it(folded: Path) -> None:
    result = prove("blur", "--schedule", folded, "--json")
    found = json.loads(result.output)
    assert not found["legal"]
    (refuted,) = [o for o in found["obligations"] if o["outcome"] == "refuted"]
    assert (refuted["kind"], refuted["func"]) == ("folding", "blur_x")
    assert refuted["counterexample"]["coordinate"] == [0, -1]
    assert found["replays"][0]["shows_a_mistake"]
    assert all(o["by"] for o in found["obligations"] if o["outcome"] == "proven")
    assert found["solver_seconds"] <= found["seconds"]


def test_certificates_are_accepted_by_another_run_unless_changed(tmp_path: Path) -> None:
    folder = tmp_path / "proofs"
    words = ["blur", "--schedule", "gpu", "--device", "sm_80"]
    assert prove(*words, "--certificates", folder).exit_code == 0
    files = sorted(folder.glob("*.smt2"))
    assert any("barrier" in file.name for file in files)
    again = prove(*words, "--recheck", folder)
    assert again.exit_code == 0, again.output
    assert f"{len(files)} certificates, 0 refused." in again.output
    other = prove("blur", "--schedule", "cpu", "--recheck", folder)
    assert other.exit_code == 1
    assert "another question than the schedule's" in other.output
    changed = next(file for file in files if "barrier-blur_x" in file.name)
    text = changed.read_text()
    assert "(not" in text
    changed.write_text("".join(f"{line}\n" for line in text.splitlines() if "assert" not in line))
    refused = prove(*words, "--recheck", folder)
    assert refused.exit_code == 1
    assert "refused" in refused.output
    told = json.loads(prove(*words, "--recheck", folder, "--json").output)
    assert [row["file"] for row in told if not row["accepted"]] == [changed.name]


def test_certificates_of_what_is_not_proven_are_no_proof(folded: Path, tmp_path: Path) -> None:
    """A recheck ends as the proofs: 1 if one is refuted, 3 if one is unknown."""
    for words, status in (
        (("blur", "--schedule", folded), 1),
        (("blur", "--schedule", "default", "--seconds", "0"), 3),
    ):
        folder = tmp_path / str(status)
        assert prove(*words, "--certificates", folder).exit_code == status
        again = prove(*words, "--recheck", folder)
        assert " 0 refused." in again.output
        assert again.exit_code == status


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["nothing", "--schedule", "cpu"], "There is no app 'nothing'"),
        (["blur", "--schedule", "missing"], "There is no file missing"),
        (["blur", "--schedule", "cpu", "--device", "abacus"], "abacus"),
        (["blur", "--schedule", "cpu", "--recheck", "empty"], "no certificates"),
    ],
)
def test_wrong_usage_is_a_sentence(words: list[str], said: str) -> None:
    result = prove(*words)
    assert result.exit_code == 2
    assert said in result.output


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda e: e.rule)
def test_no_broken_schedule_is_too_broken(example: Example, clock: Clock) -> None:
    """Each schedule either has no loop nest, because its rule is about form, or has obligations."""
    clock.step = 1e-3
    broken = example.broken
    findings = prove_schedule(broken.pipeline, broken.schedule, broken.device, 0.1)
    assert not findings.verdict.legal
    assert (findings.report is None) == example.rule.startswith(MEANINGLESS)


SHOWN = {"order.reduction", "race.update", "storage.fold-too-small"}
"""Rules about wrong values; their examples compute some."""


@pytest.mark.parametrize("example", [e for e in EXAMPLES if e.rule in SHOWN], ids=lambda e: e.rule)
@pytest.mark.usefixtures("clock")  # which stands still
def test_rules_about_wrong_values_are_shown_to_be(example: Example) -> None:
    broken = example.broken
    findings = prove_schedule(broken.pipeline, broken.schedule, broken.device, 5.0)
    assert findings.report is not None
    assert findings.report.refuted
    assert all(run.shows_a_mistake for run in findings.replays)
    assert any(run.wrong for run in findings.replays)


@pytest.mark.parametrize(
    ("app", "name"),
    [("depthwise_conv", "cpu"), ("depthwise_conv", "gpu"), ("max_filter", "gpu"), ("bgu", "gpu")],
)
@pytest.mark.usefixtures("clock")  # which stands still
def test_nothing_is_unknown_of_fused_tiles_and_rows_of_unknown_length(app: str, name: str) -> None:
    pipeline = APPS[app].pipeline()
    target = device("sm_80" if name == "gpu" else "cpu")
    schedule = parse_schedule(APPS[app].schedules[name].read_text("utf-8"), pipeline)
    report = prove_schedule(pipeline, schedule, target, 60.0).report
    assert report is not None
    assert len(report.proven) == len(report.proofs) > 40


def test_how_large_a_grid_may_be_is_not_assumed() -> None:
    pipeline = APPS["blur"].pipeline()
    schedule = parse_schedule(APPS["blur"].schedules["gpu"].read_text("utf-8"), pipeline)
    target = device("sm_80")
    verdict = verify(pipeline, schedule, target)
    assert isinstance(verdict, CheckedSchedule)
    assert any(r.rule == "gpu.grid-dimension" for r in verdict.size_conditions)
    for asked in all_obligations(pipeline, schedule, target):
        numbers = [n.value for n in walk(*asked.hypotheses) if isinstance(n, Const)]
        assert all(number < 65535 for number in numbers)
