"""Commands on files of Halide, and on functions that return objects of Halide."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from spaces import parse_schedule, read_hlpipe
from tests.apps.command_line import spaces

FILE = Path(__file__).parents[1] / "halide_programs" / "data" / "blur_of_halide_19.hlpipe"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return Path(shutil.copy(FILE, tmp_path / "theirs.hlpipe"))


def test_the_own_schedule_of_a_file_is_verified(file: Path) -> None:
    given = f"{file}:in=200x200,out=64x48,p=3"
    out, err = spaces("verify", given, "--schedule", "own")
    assert out.startswith("The schedule is legal for cpu.\n")
    assert err == ""


def test_a_file_is_shown(file: Path) -> None:
    out, _ = spaces("show", file, "--schedule", "own")
    assert "repeat_edge" in out
    assert "out.tile(x, y, xi, yi, 32, 8).vectorize(xi, 8).parallel(y)" in out


def test_usual_sizes_are_asked_for_by_name(file: Path) -> None:
    _, err = spaces("count", file, status=2)
    assert f"{file} tells no usual sizes of in, out; give them" in err
    assert f"{file}:in=64x64,out=64x64." in err
    _, err = spaces("verify", f"{file}:out=64x48", "--schedule", "own")
    assert f"tells no usual sizes of in; give them, as in {file}:out=64x48,in=64x64." in err


@pytest.mark.parametrize(
    ("estimates", "message"),
    [
        ("in", "'in' is not an estimate; write NAME=WIDTHxHEIGHT"),
        ("in=large", "'large' is not a size"),
        ("p=many", "'many' is not a size"),
        ("p=3x3", "a Param takes a number"),
        ("q=3x3", "estimate of q: no image, output or Param has this name; there are in, out, p."),
    ],
)
def test_what_is_wrong_with_sizes(file: Path, estimates: str, message: str) -> None:
    _, err = spaces("verify", f"{file}:{estimates}", "--schedule", "own", status=2)
    assert message in err


def test_files_that_cannot_be_read(tmp_path: Path, file: Path) -> None:
    _, err = spaces("verify", tmp_path / "none.hlpipe", "--schedule", "own", status=2)
    assert err.startswith("There is no file ")
    (tmp_path / "cut.hlpipe").write_bytes(FILE.read_bytes()[:99])
    _, err = spaces("show", tmp_path / "cut.hlpipe", status=2)
    assert "cut.hlpipe: The file is damaged or cut off" in err
    _, err = spaces("verify", file, "--schedule", "cpu", status=2)
    assert "it has default, own." in err


def test_a_function_may_return_a_func_of_halide(tmp_path: Path) -> None:
    pytest.importorskip("halide", reason="Halide's Python package is not installed")
    (tmp_path / "theirs.py").write_text(
        """
import halide as hl
import spaces

def doubled():
    x, data, out = hl.Var("x"), hl.ImageParam(hl.Float(32), 1, "data"), hl.Func("doubled")
    out[x] = hl.strict_float(data[x] * hl.f32(2))
    out.vectorize(x, 4)
    return out

def sized():
    return spaces.from_halide(doubled(), ignore_schedule=True)

def printed():
    x, out = hl.Var("x"), hl.Func("printed")
    out[x] = hl.print(x)
    return out

ready = doubled()
"""
    )
    out, err = spaces("show", f"{tmp_path}/theirs.py:doubled", "--schedule", "own")
    assert "doubled.vectorize(x, 4)" in out
    assert err == "strict_float holds where code is compiled in float mode strict.\n"
    assert spaces("show", f"{tmp_path}/theirs.py:ready", "--schedule", "own") == (out, err)
    out, _ = spaces("show", f"{tmp_path}/theirs.py:sized", "--schedule", "own")
    assert "doubled" in out
    assert "vectorize" not in out
    _, err = spaces("show", f"{tmp_path}/theirs.py:printed", status=2)
    assert "Pipeline printed of Halide cannot come in:\n- value of Func printed: " in err


def test_a_class_may_be_a_generator_of_halide(tmp_path: Path) -> None:
    pytest.importorskip("halide", reason="Halide's Python package is not installed")
    (tmp_path / "theirs.py").write_text(
        """
import halide as hl

@hl.generator(name="tripled_on_the_command_line")
class Tripled:
    data = hl.InputBuffer(hl.Int(32), 1)
    tripled = hl.OutputBuffer(hl.Int(32), 1)

    def generate(self):
        x = hl.Var("x")
        self.tripled[x] = self.data[x] * 3
        self.tripled.parallel(x, 4)
"""
    )
    out, _ = spaces("show", f"{tmp_path}/theirs.py:Tripled", "--schedule", "own")
    assert "tripled.parallel(x, 4)" in out


def test_a_search_keeps_what_is_scheduled_in_halide(file: Path) -> None:
    program = read_hlpipe(file)
    given = f"{file}:in=200x200,out=64x48,p=3"
    out, _ = spaces("search", given, "--keep", "own", "--top", "1", "--json")
    (found,) = json.loads(out)["schedules"]
    schedule = parse_schedule(found["schedule"], program.pipeline)
    assert program.scheduled == ("blur", "h", "out")
    assert schedule == program.schedule


def test_draws_keep_it_too(file: Path) -> None:
    program = read_hlpipe(file)
    given = f"{file}:in=200x200,out=64x48,p=3"
    out, _ = spaces("sample", given, "--options", "small", "--keep", "own", "--json")
    (text,) = json.loads(out)["schedules"]
    drawn = parse_schedule(text, program.pipeline)
    for name in program.scheduled:
        assert drawn.of(name) == program.schedule.of(name)
