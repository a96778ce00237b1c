"""``spaces train``: weights and their log from files of measured schedules."""

from __future__ import annotations

import json

import pytest

from spaces import APPS, Batch, cost_model, device, parse_schedule
from tests.apps.command_line import spaces

APP = APPS["toy_blur"]

PIPELINES = """
from spaces.contracts.examples import blur

def by_name(name):
    return blur() if name == "small" else None
"""


def _record(subject: str, schedule: str, ratio: float) -> str:
    record = {"subject": subject, "schedule": schedule, "outcome": "correct", "ratio": ratio,
              "reference_median_seconds": 0.01, "cpu": "a CPU"}  # fmt: skip
    return json.dumps(record) + "\n"


@pytest.fixture
def files(tmp_path):
    apps, others = tmp_path / "toy_blur.jsonl", tmp_path / "others.jsonl"
    apps.write_text("".join(_record("toy_blur", f"blur_y.vectorize(x, {n})", n) for n in (2, 4, 8)))
    schedules = [f"blur_y.split(y, y, yi, {n}).parallel(y)" for n in (2, 4, 8, 16)]
    others.write_text("".join(_record("small", s, 2.0 + i) for i, s in enumerate(schedules)))
    (tmp_path / "own.py").write_text(PIPELINES)
    return tmp_path


def test_weights_and_their_log(files) -> None:
    out = files / "mine.npz"
    text, _ = spaces(
        "train", files / "toy_blur.jsonl", files / "others.jsonl", "--out", out, "--steps", "3",
        "--pipelines", f"{files / 'own.py'}:by_name", "--judge", "toy_blur", "--seed", "7",
    )  # fmt: skip
    assert "toy_blur" in text
    assert "a training on all 7 schedules" in text
    log = json.loads((files / "mine.json").read_text())
    assert log["sources"] == {"toy_blur.jsonl": 3, "others.jsonl": 4}
    assert (log["processor"], log["training"]["seed"], log["kind"]) == ("a CPU", 7, "hybrid")
    assert list(log["held_out"]["subjects"]) == ["toy_blur"]
    pipe, cpu = APP.pipeline(), device("cpu")
    batch = Batch.of(pipe, parse_schedule("blur_y.parallel(y)", pipe))
    assert float(cost_model(str(out), cpu).cost(batch)) > 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--out", "mine.json"), "must end with .npz"),
        (("--out", "mine.npz", "--loss", "lost"), "There is no loss 'lost'"),
        (("--out", "mine.npz", "--judge", "harris"), "no schedules of harris"),
    ],
)
def test_mistakes(files, arguments, message) -> None:
    _, err = spaces("train", files / "toy_blur.jsonl", *arguments, status=2)
    assert message in " ".join(err.split())


def test_files_must_be_there(tmp_path) -> None:
    _, err = spaces("train", tmp_path / "none.jsonl", "--out", "mine.npz", status=2)
    assert "There is no file" in err


def test_a_subject_needs_a_pipeline(files) -> None:
    arguments = ("train", files / "others.jsonl", "--out", files / "mine.npz")
    _, err = spaces(*arguments, status=2)
    assert "There is no app 'small'" in err
