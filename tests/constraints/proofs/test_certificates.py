"""Certificates are accepted as written, and refused once they are changed."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from spaces.constraints.devices.device import device
from spaces.constraints.legality.verdict import CheckedSchedule
from spaces.constraints.legality.verify import verify
from spaces.constraints.obligations.records import Proven
from spaces.constraints.proofs.certificates import certificate, recheck, write_certificates
from spaces.constraints.proofs.prove import obligations, prove
from spaces.model.nest.loopnest import LoopNest
from spaces.model.writing.text import parse_schedule
from tests.constraints.proofs.broken import blur, nest_of


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Certificates of a blur with a sliding window whose fold factor is too small."""
    report = prove(sliding_nest())
    written = write_certificates(report, tmp_path / "proofs")
    assert len(written) == len(report.proofs)
    return tmp_path / "proofs"


def sliding_nest(factor: int = 2) -> LoopNest:
    return nest_of(
        blur(),
        lambda d: d.func("blurx").store_root().compute_at("out", "y").fold_storage("y", factor),
    )


def refused_of(folder: Path, nest: LoopNest) -> list[str]:
    return [check.file for check in recheck(folder, obligations(nest)) if not check.accepted]


def test_certificates_are_of_the_schedule_that_they_were_made_for(folder: Path) -> None:
    assert refused_of(folder, sliding_nest()) == []
    assert [name.split("-")[1] for name in refused_of(folder, sliding_nest(3))] == ["folding"]
    unfolded = nest_of(blur(), lambda d: d.func("blurx").compute_root())
    assert refused_of(folder, unfolded)


def test_those_of_specializations_are_those_of_each_case(tmp_path: Path) -> None:
    text = "out.specialize(out.width() >= 32).vectorize(x, 8)\nblurx.compute_at(out, y)\n"
    algorithm = blur()
    checked = verify(algorithm, parse_schedule(text, algorithm), device("cpu"))
    assert isinstance(checked, CheckedSchedule)
    written = write_certificates(prove(checked), tmp_path)
    checks = recheck(tmp_path, obligations(checked))
    assert [check.file for check in checks] == [path.name for path in written]
    assert {check.found for check in checks} == {"unsat"}


def test_what_asks_something_else_is_refused(folder: Path) -> None:
    path = of_kind(folder, "sliding")
    text = path.read_text()
    start = text.rindex("(assert")
    path.write_text(text[:start] + "(assert false)\n(check-sat)\n")
    assert refused(folder) == []
    assert refused_of(folder, sliding_nest()) == [path.name]


def test_a_changed_statement_or_a_last_file_that_is_gone_is_refused(folder: Path) -> None:
    path = of_kind(folder, "coverage")
    path.write_text(path.read_text().replace("; statement: ", "; statement: not "))
    last = max(folder.glob("*.smt2"))
    last.unlink()
    for other in folder.glob("*.smt2"):
        number = len(list(folder.glob("*.smt2")))
        text = other.read_text().split("\n", 1)
        other.write_text(f"{text[0].split(' of ')[0]} of {number}\n{text[1]}")
    assert refused_of(folder, sliding_nest()) == [path.name, f"{last.name[:4]}-*.smt2"]


def of_kind(folder: Path, kind: str) -> Path:
    return min(folder.glob(f"*-{kind}-*.smt2"))


def refused(folder: Path) -> list[str]:
    return [check.file for check in recheck(folder) if not check.accepted]


def test_certificates_are_accepted_as_they_are_written(folder: Path) -> None:
    checks = recheck(folder)
    assert all(check.accepted for check in checks)
    assert {c.found for c in checks if "folding" in c.file} == {"sat"}
    assert {c.found for c in checks if "folding" not in c.file} == {"unsat"}
    text = of_kind(folder, "sliding").read_text()
    assert "; kind: sliding\n; statement: An earlier iteration of " in text
    assert "; expected: unsat\n" in text
    assert "(assert" in text


def test_a_changed_number_is_refused(folder: Path) -> None:
    path = of_kind(folder, "sliding")
    text = path.read_text()
    changed = re.sub(r"\(ite (.+) 0 1\)", r"(ite \1 0 3)", text)
    assert changed != text
    path.write_text(changed)
    assert refused(folder) == [path.name]


def test_a_changed_verdict_is_refused(folder: Path) -> None:
    path = of_kind(folder, "folding")
    path.write_text(path.read_text().replace("; expected: sat", "; expected: unsat"))
    assert refused(folder) == [path.name]


def test_text_that_is_no_certificate_is_refused(folder: Path) -> None:
    broken, headless = of_kind(folder, "bounds"), of_kind(folder, "coverage")
    broken.write_text(broken.read_text().replace("(assert", "(asert", 1))
    headless.write_text("(check-sat)")
    assert {broken.name, headless.name} <= set(refused(folder))


def test_a_missing_certificate_is_refused(folder: Path) -> None:
    of_kind(folder, "definition").unlink()
    assert refused(folder) == ["0001-*.smt2"]


def test_a_folder_without_certificates_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="There are no certificates"):
        recheck(tmp_path)


def test_what_intervals_prove_the_solver_proves_too() -> None:
    report = prove(nest_of(blur()))
    assert {p.outcome for p in report.proofs} == {Proven("intervals")}
    assert all("; expected: unsat" in certificate(p) for p in report.proofs)
