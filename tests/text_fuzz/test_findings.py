"""What mutated texts have found, made small: each ended in a traceback, or took seconds."""

from __future__ import annotations

from pathlib import Path

import attrs
import pytest
from typer.testing import CliRunner

from spaces.apps.catalog import APPS
from spaces.apps.command_line.program import program
from spaces.constraints.devices.device import device
from spaces.constraints.legality.verify import verify
from spaces.constraints.proofs.certificates import recheck
from spaces.model.algorithm.freeze import pipeline
from spaces.model.algorithm.func import Func
from spaces.model.algorithm.image_param import ImageParam
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.algorithm.rdom import RDom
from spaces.model.algorithm.var import Var
from spaces.model.expressions.types import UInt8
from spaces.model.schedules.derivations import RFactor
from spaces.model.schedules.schedule import Companion, LoopAlign, Schedule, StageOf
from spaces.model.writing.serialize import DocumentError, from_json, to_json
from spaces.model.writing.text import format_schedule, parse_schedule
from tests.text_fuzz.check import Case, check
from tests.text_fuzz.runner import outcome

NEGATIVE = (
    APPS["interpolate"]
    .schedules["gpu"]
    .read_text("utf-8")
    .replace(
        "filled_3.compute_root().reorder(c, x, y).gpu_tile(x, y, xi, yi, 16, 8)",
        "filled_3.compute_root().reorder(c, x, y).gpu_tile(x, y, xi, yi, -16, 8)",
    )
)
TILE = ".gpu_tile(x, y, xi, yi, 32, 8)"


@pytest.mark.parametrize(
    ("subject", "text"),
    [
        # The rest of a text with a mistake was judged with a million terms inlined.
        ("pyramid_blend", "joined_1.compute_root()\nfirst_3.compute_root().compu"),
        ("pyramid_blend", f"output{TILE}\nblended_3.compute_root(){TILE}\nfirst_3.comp"),
        ("interpolate", NEGATIVE),
        ("halide/diamond", "a.in(b)" + ".in(b)" * 98 + ";b.vector"),
        # Each mistake replayed the whole chain, or each directive was applied in vain.
        ("halide/blur", "blur_x.compute_root()" + ".vectorize(x, 4)" * 100),
        ("halide/blur", "blur_x" + ".specialize(nan > 3)" * 2500),
        ("halide/blur", "blur_y" + TILE * 2500),
        ("halide/blur", "blur_x" + ".in()" * 300),
    ],
)
def test_texts_that_took_seconds(subject: str, text: str) -> None:
    case = Case("sched", "gpu" if "gpu_tile" in text else "cpu", subject, text)
    outcome(attrs.evolve(case, text=""))  # what is made once for a pipeline
    _, wrong, _ = outcome(case)
    assert not wrong


def test_conditions_that_calculate_with_floats() -> None:
    image, f, x = ImageParam(UInt8, 1, "input"), Func("f"), Var("x")
    f[x] = image[x]
    algorithm = pipeline(f, estimates={f: [64], image: [64]})
    for condition in ("float32(input.extent.0) > 10.5", "nan > 3.0"):
        given = parse_schedule(f"f.specialize({condition}).vectorize(x, 8)", algorithm)
        assert verify(algorithm, given, device("cpu")).legal


@pytest.mark.parametrize(
    ("command", "app", "text"),
    [
        *(
            (c, "blur", "blur_y.split(x, y, xi, 4)")
            for c in ("show", "prove", "verify", "complete")
        ),
        *((c, "interpolate", "output.parallel(y)") for c in ("show", "prove", "verify")),
    ],
)
def test_commands_on_schedules_without_a_nest(
    command: str, app: str, text: str, tmp_path: Path
) -> None:
    file = tmp_path / "x.sched"
    file.write_text(text)
    result = CliRunner().invoke(program, [command, app, "--schedule", str(file)])
    assert result.exit_code == 1
    assert isinstance(result.exception, SystemExit)


def test_records_that_no_directive_says() -> None:
    image, f, g, x = ImageParam(UInt8, 1, "input"), Func("f"), Func("g"), Var("x")
    g[x] = image[x]
    f[x] = g[x]
    algorithm = pipeline(f)
    start = parse_schedule("g.compute_root()", algorithm)
    twice = (("x", LoopAlign.ALIGN_END), ("x", LoopAlign.ALIGN_START), ("y", LoopAlign.AUTO))
    with_g = Companion(StageOf("g"), "x", twice)
    assert with_g.aligned == (("x", LoopAlign.ALIGN_START),)

    def changed(**fields: object) -> Schedule:
        entry = attrs.evolve(start.of("f"), **fields)
        return start.with_funcs(entry if e.name == "f" else e for e in start.funcs)

    together = changed(companions=(with_g,))
    assert parse_schedule(format_schedule(together, algorithm), algorithm) == together
    assert from_json(to_json(together), Schedule) == together
    for strange in (
        changed(companions=(attrs.evolve(with_g, stage=7),)),
        changed(companions=(attrs.evolve(with_g, stage=-1),)),
        changed(atomic=(7,)),
        changed(atomic=(-1,)),
    ):
        with pytest.raises(ValueError, match=r"says something of stage (7|-1) of f"):
            format_schedule(strange, algorithm)
        assert not verify(algorithm, strange, device("cpu")).legal
    with pytest.raises(ValueError, match="preserves at least one loop"):
        RFactor("f", 0, (), ())


@pytest.mark.parametrize("text", [b"; number: 1 of 2\n\x80", b"; number: 1 of 99999999999999\n"])
def test_certificates_that_are_no_text(text: bytes, tmp_path: Path) -> None:
    (tmp_path / "0001-reads-f.smt2").write_bytes(text)
    found = recheck(tmp_path)
    assert len(found) < 10
    assert not any(one.accepted for one in found)


def test_a_document_nested_beyond_the_reader() -> None:
    deep = '{"is": "Schedule", "version": 1, "value": ' + "[" * 900 + "]" * 900 + "}"
    for text in ("[" * 100_000, deep):
        assert check(Case("Schedule", "", "blur", text)) == "refused"


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ('"name": "r.y"', '"name": "r.x"', r"runs over 'r\.x' 2 times"),
        ('"var": "y"', '"var": "x"', "in the place of 'y'|at its Vars"),
        ('"var": "r.y"', '"var": "s"', "uses 's', which is not a Var, RVar, parameter or size"),
        ('"name": "g"', '"name": "\\ud800"', "half of a character"),
    ],
)
def test_pipelines_whose_names_do_not_fit(old: str, new: str, told: str) -> None:
    image, g, x, y = ImageParam(UInt8, 2, "input"), Func("g"), Var("x"), Var("y")
    r = RDom([(0, 3), (0, 4)], "r")
    g[x, y] = image[x, y]
    g[x, y] += image[x + r.x, y + r.y]
    document = to_json(pipeline(g))
    assert from_json(document, Pipeline) == pipeline(g)
    with pytest.raises(DocumentError, match=told):
        from_json(document.replace(old, new), Pipeline)


@pytest.mark.parametrize("name", ["a" * 5000, "a/" + "a" * 5000, "/dev/zero"])
def test_schedules_in_files_that_cannot_be_read(name: str) -> None:
    result = CliRunner().invoke(program, ["verify", "blur", "--schedule", name])
    assert result.exit_code == 2
    assert isinstance(result.exception, SystemExit)


@pytest.mark.parametrize(
    "code", ["import sys; sys.exit(0)", "def f(): raise SystemExit(0)", "def f(): return f()"]
)
def test_apps_in_files_that_end_the_program(code: str, tmp_path: Path) -> None:
    file = tmp_path / "ends.py"
    file.write_text(code)
    for app in (f"{file}:f", f"{'a' * 5000}.py:f"):
        result = CliRunner().invoke(program, ["show", app])
        assert result.exit_code == 2
        assert result.stderr.strip()
