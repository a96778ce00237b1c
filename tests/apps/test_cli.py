"""The command line: what it prints, how it exits, and what it says to bad input."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

from apps.catalog import APPS
from apps.cli import program
from apps.files import read_photograph
from apps.photographs import photograph as bundled
from apps.pictures import clipped, to_array
from backend.reference import evaluate
from tests.apps.formulas import blur, photograph

SCRIPT = Path(sys.executable).parent / "spaces"


def spaces(*arguments, status=0):
    """Run a command; what it printed, and what it complained of."""
    result = CliRunner().invoke(program, [str(a) for a in arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == status, result.output
    assert "Traceback" not in result.output
    return result.stdout, result.stderr


@pytest.fixture
def sched(tmp_path):
    def write(text):
        path = tmp_path / "given.sched"
        path.write_text(text)
        return path

    return write


@pytest.fixture
def picture(tmp_path):
    path = tmp_path / "in.png"
    Image.fromarray(photograph(60, 90)).save(path)
    return path


def files(folder):
    return sorted(path.name for path in folder.iterdir())


# What there is


def test_list_names_every_app_with_its_paper():
    out, _ = spaces("list")
    rows = {line.split()[0]: line for line in out.splitlines()}
    assert set(APPS) <= set(rows)
    assert "[TOY]" in rows["toy_trig"]
    assert "6400 x 4800 [S19]" in rows["blur"]


def test_show_draws_who_reads_whom_the_tree_and_the_loop_nest():
    out, _ = spaces("show", "blur", "--schedule", "cpu_tiles")
    assert any(line.split() == ["blur_y", "uint16", "x,", "y", "1", "blur_x", "output"]
               for line in out.splitlines())  # fmt: skip
    assert "blur_y.tile(x, y, xo, yo, xi, yi, 256, 32)" in out
    assert "store blur_x" in out
    assert "parallel blur_y.yo in 0 .. (blur_y.extent.1 + 31) / 32 - 1:" in out


def test_show_draws_what_it_can_of_an_illegal_schedule(sched):
    path = sched("blur_x.compute_at(blur_y, w)")
    out, err = spaces("show", "blur", "--schedule", path, status=1)
    assert "blur_x.compute_at(blur_y, w)" in out
    assert "does not enclose every use of blur_x" in err


def test_output_in_a_pipe_is_plain_text():
    result = subprocess.run([SCRIPT, "list"], capture_output=True, text=True, timeout=60)
    assert result.returncode == 0
    assert result.stdout.isascii()
    assert "\x1b" not in result.stdout
    assert result.stderr == ""


# Verify


def test_a_legal_schedule_exits_0():
    out, _ = spaces("verify", "unsharp", "--schedule", "gpu", "--device", "sm_80")
    assert out.splitlines()[0] == "The schedule is legal for sm_80."
    out, _ = spaces("verify", "blur", "--schedule", "cpu", "--json")
    told = json.loads(out)
    assert (told["legal"], told["violations"], told["advice"]) == (True, [], [])


def test_an_illegal_schedule_exits_1_with_every_violation(sched):
    path = sched("blur_y.vectorize(q).parallel(z)\nblur_x.compute_at(blur_y, w)")
    out, _ = spaces("verify", "blur", "--schedule", path, status=1)
    for name in "qzw":
        assert f" {name}" in out
    out, _ = spaces("verify", "blur", "--schedule", path, "--json", status=1)
    verdict = json.loads(out)
    assert verdict["legal"] is False
    assert len(verdict["violations"]) >= 3
    for violation in verdict["violations"]:
        assert list(violation) == ["rule", "func", "stage", "loop", "message", "values"]
        assert violation["func"] in ("blur_x", "blur_y")
        assert violation["stage"] == 0
        assert violation["message"].endswith(".")
        assert isinstance(violation["values"], dict)


def test_a_block_that_its_stencil_makes_too_large_is_illegal_for_a_gpu(sched):
    path = sched(
        "blur_y.gpu_tile(x, y, xi, yi, 32, 32)\nblur_x.compute_at(blur_y, x).gpu_threads(x, y)"
    )
    arguments = ("verify", "blur", "--schedule", path, "--device", "sm_80", "--json")
    out, _ = spaces(*arguments, status=1)
    (violation,) = json.loads(out)["violations"]
    assert violation["rule"] == "gpu.threads-per-block"
    assert "1088" in violation["message"]  # 32 x (32 + 2)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("blur_y.tile(x, y", "line 1, column 17: Expected ')'"),
        ("blur_y.twist(x)", "There is no directive 'twist'"),
        ("blur_z.parallel(y)", "has no Func 'blur_z' (is blur_y meant?)"),
    ],
)
def test_a_malformed_schedule_exits_2_with_the_place(sched, text, sentence):
    out, err = spaces("verify", "blur", "--schedule", sched(text), status=2)
    assert out == ""
    assert sentence in err


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("verify", "blurr", "--schedule", "cpu"), "There is no app 'blurr'"),
        (("verify", "blur", "--schedule", "fast"), "There is no file fast"),
        (("verify", "blur", "--schedule", "./gone.sched"), "Cannot read the schedule"),
        (("verify", "blur", "--schedule", "cpu", "--device", "sm_1"), "No device is called 'sm_1'"),
        (("verify", "blur"), "Missing option '--schedule'"),
        (("verify", "blur", "--schedule", "cpu", "--loud"), "No such option"),
        (("run", "blur", "--threads", "0"), "Invalid value for '--threads'"),
        (("list", "all"), "unexpected extra argument"),
        (("count", "gone.py:f"), "There is no file gone.py"),
    ],
)
def test_wrong_usage_exits_2_with_a_sentence(arguments, sentence):
    out, err = spaces(*arguments, status=2)
    assert out == ""
    assert sentence in err


# Spaces


def test_enumerate_prints_schedules_that_verify_finds_legal(sched):
    out, _ = spaces("enumerate", "toy_sum", "--limit", "3", "--json")
    texts = json.loads(out)["schedules"]
    assert len(texts) == len(set(texts)) == 3
    for text in texts:
        spaces("verify", "toy_sum", "--schedule", sched(text))


def test_enumerate_without_a_limit_prints_as_many_as_count_counts():
    out, _ = spaces("enumerate", "toy_sum", "--device", "sm_80", "--limit", "0")
    shown = sum(line.startswith("# ") for line in out.splitlines())
    out, _ = spaces("count", "toy_sum", "--device", "sm_80")
    assert f"\n{shown} legal schedules\n" in out


def test_search_is_reproducible_and_sorted():
    arguments = ("search", "blur", "--strategy", "exhaustive", "--top", "3", "--json")
    out, _ = spaces(*arguments)
    report = json.loads(out)
    costs = [found["cost"] for found in report["schedules"]]
    assert len(costs) == 3
    assert costs == sorted(costs)
    assert report["complete"] is True
    assert spaces(*arguments)[0] == out


def test_search_takes_a_cost_model_of_the_users(tmp_path):
    model = tmp_path / "model.py"
    model.write_text("def constant(batch):\n    return 42.0\n")
    arguments = ("search", "toy_sum", "--strategy", "exhaustive", "--cost", f"{model}:constant")
    out, _ = spaces(*arguments, "--top", "1", "--json")
    assert [found["cost"] for found in json.loads(out)["schedules"]] == [42.0]


@pytest.mark.parametrize(
    ("option", "value", "sentence"),
    [
        ("--cost", "speed", "No cost model is called 'speed'"),
        ("--strategy", "luck", "No search strategy is called 'luck'"),
        ("--top", "0", "Invalid value for '--top'"),
        ("--seconds", "-1", "Invalid value for '--seconds'"),
        ("--cost", "occupancy", "'occupancy' is for GPUs, and cpu is a CPU"),
    ],
)
def test_search_names_what_it_does_not_know(option, value, sentence):
    _, err = spaces("search", "toy_sum", option, value, status=2)
    assert sentence in err


def test_search_costs_as_fits_the_device():
    out, _ = spaces("search", "toy_sum", "--device", "sm_80", "--top", "1", "--json")
    assert json.loads(out)["cost"] == "occupancy"
    out, _ = spaces("search", "toy_sum", "--top", "1", "--json")
    assert json.loads(out)["cost"] == "reuse"


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        ("1 / 0", "own.py:cost failed: ZeroDivisionError: division by zero"),
        ("[1.0] * 3", "takes one number a choice"),
        ("'cheap'", "what a cost model gives for it is of type str"),
    ],
)
def test_a_cost_model_of_the_users_that_fails_is_said_in_a_sentence(tmp_path, body, sentence):
    own = tmp_path / "own.py"
    own.write_text(f"def cost(batch):\n    return {body}\n")
    _, err = spaces("search", "blur", "--cost", f"{own}:cost", status=1)
    assert sentence in err


# Compile


def test_compile_writes_everything_for_a_cpu(tmp_path):
    folder = tmp_path / "made"
    spaces("compile", "blur", "--schedule", "cpu", "-o", folder)
    own = [f"blur.{e}" for e in ("h", "ll", "nest", "o", "program", "s", "sched")]
    assert files(folder) == [*own, "spaces_runtime.h", "spaces_runtime.o"]
    assert "define" in (folder / "blur.ll").read_text()
    assert (folder / "blur.o").read_bytes()[:4] == b"\x7fELF"
    again = folder / "blur.sched"
    spaces("verify", "blur", "--schedule", again)


def test_compile_writes_the_program_after_any_pass(tmp_path):
    written = {}
    for name in ("start", "vectorize", "parallel"):
        spaces("compile", "blur", "--schedule", "cpu", "--after", name, "-o", tmp_path)
        written[name] = (tmp_path / "blur.program").read_text()
    assert "vectorized blur_y.s0.x_v" in written["start"]
    assert "ramp(" in written["vectorize"]
    assert "task " in written["parallel"]
    _, err = spaces(
        "compile", "blur", "--schedule", "cpu", "--after", "x", "-o", tmp_path, status=2
    )
    assert "There is no pass 'x'; there are start, simplify" in err
    gpu = ("--schedule", "gpu", "--device", "sm_80")
    _, err = spaces("compile", "blur", *gpu, "--after", "simplify", "-o", tmp_path, status=2)
    assert "sm_80 is a GPU, whose code is CUDA C." in err


def test_compile_writes_cuda_text_for_a_gpu(tmp_path):
    spaces("compile", "blur", "--schedule", "gpu", "--device", "sm_80", "-o", tmp_path)
    assert 'extern "C" __global__' in (tmp_path / "blur.cu").read_text()
    report = tmp_path / "blur.resources.json"
    if report.exists():
        (kernel,) = json.loads(report.read_text()).values()
        assert kernel["block"] == [32, 10, 1]
        assert kernel["shared_bytes"] == 32 * 10 * 2


def test_compile_refuses_an_illegal_schedule_and_writes_nothing(tmp_path):
    folder = tmp_path / "made"
    _, err = spaces("compile", "blur", "--schedule", "gpu", "-o", folder, status=1)
    assert "illegal for cpu" in err
    assert not folder.exists()


# Run


@pytest.mark.parametrize("schedule", ["default", "cpu"])
def test_run_writes_the_picture_that_the_reference_computes(tmp_path, picture, schedule):
    output = tmp_path / "out.png"
    spaces("run", "unsharp", "--input", picture, "--output", output, "--schedule", schedule)
    pipeline = APPS["unsharp"].pipeline()
    array = to_array(photograph(60, 90), pipeline.image("input"))
    expected = evaluate(pipeline, {"input": array}, sizes={"output": (90, 60, 3)})["output"]
    difference = read_photograph(output).astype(int) - clipped(expected)
    assert np.abs(difference).max() <= 1


def test_run_keeps_arrays_exact(tmp_path):
    image = np.random.default_rng(0).integers(0, 9999, (40, 50), np.uint16)
    np.save(tmp_path / "in.npy", image)
    spaces("run", "blur", "--input", tmp_path / "in.npy", "--output", tmp_path / "out.npy")
    expected = evaluate(
        APPS["blur"].pipeline(), {"input": image}, sizes={"blur_y": [(1, 48), (1, 38)]}
    )["blur_y"]
    np.testing.assert_array_equal(np.load(tmp_path / "out.npy"), expected)


def test_run_takes_sizes_and_parameters(tmp_path, picture):
    for k in ("0.04", "0.2"):
        spaces("run", "harris", "--input", picture, "--output", tmp_path / f"{k}.npy",
               "--set", f"k={k}", "--size", "5:20x7:10", "--schedule", "default")  # fmt: skip
    first, second = (np.load(tmp_path / f"{k}.npy") for k in ("0.04", "0.2"))
    assert first.shape == second.shape == (10, 20)
    assert (first > second).all()


def test_an_app_runs_on_a_photograph_of_its_own_with_its_schedule_for_the_cpu(
    tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    out, _ = spaces("run", "blur")
    assert out.startswith("out/blur.png: blur_y, 1022 x 766, in ")
    pixels = read_photograph(tmp_path / "out" / "blur.png")[:, :, 0]
    gray = to_array(bundled(1024, 768), APPS["blur"].pipeline().image("input"))
    np.testing.assert_array_equal(pixels, blur({"input": gray}, ()))


def test_the_other_images_must_be_named_where_one_is(tmp_path):
    own = tmp_path / "own.py"
    own.write_text(
        "import spaces\n"
        "def both():\n"
        "    x, f = spaces.Var('x'), spaces.Func('f')\n"
        "    a, b = (spaces.ImageParam(spaces.UInt8, 1, n) for n in 'ab')\n"
        "    f[x] = a[x] + b[x]\n"
        "    return spaces.pipeline(f)\n"
    )
    np.save(tmp_path / "a.npy", np.zeros(3, np.uint8))
    _, err = spaces("run", f"{own}:both", "--input", f"a={tmp_path / 'a.npy'}",
                    "--output", tmp_path / "o.npy", status=2)  # fmt: skip
    assert "Pipeline f reads b, too" in err


BAD_RUNS = {
    "missing image": ({"--input": "gone.png"}, 2, "Cannot read the picture gone.png"),
    "no picture": ({"--input": "text.png"}, 2, "text.png is not a picture"),
    "unknown image": ({"--input": "photo=in.png"}, 2, "names no image"),
    "wrong dtype": ({"--input": "int8.npy"}, 1, "holds uint16, but the array given holds int8"),
    "wrong shape": ({"--input": "cube.npy"}, 1, "has 2 dimensions, but the array given has 3"),
    "empty image": ({"--input": "empty.npy"}, 1, "0 elements along dimension"),
    "one pixel": ({"--input": "pixel.npy"}, 1, "1 elements along dimension 0, too few"),
    "smaller than the tile": ({"--input": "small.npy", "--schedule": "cpu"}, 1, "at least 32"),
    "beyond the image": ({"--size": "500x500"}, 1, "input"),
    "size 0": ({"--size": "0x4"}, 2, "has no elements"),
    "size of other dimensions": ({"--size": "4"}, 1, "has 2 dimensions, but its size names 1"),
    "bad size": ({"--size": "big"}, 2, "'big' is not a size"),
    "bad parameter": ({"--set": "k"}, 2, "gives no number"),
    "unknown parameter": ({"--set": "k=1"}, 1, "has no parameter 'k'"),
    "no picture format": ({"--output": "out.xyz"}, 2, "names no picture format"),
    "no folder": ({"--output": "gone/out.png"}, 2, "there is no folder gone"),
    "illegal schedule": ({"--schedule": "gpu"}, 1, "illegal for cpu"),
    "smaller than the app's schedule": (
        {"--input": "small.npy"},
        1,
        "the app's schedule cpu; --schedule default asks for less.",
    ),
}


@pytest.mark.parametrize("case", BAD_RUNS)
def test_a_bad_run_says_why_and_writes_nothing(case, tmp_path, monkeypatch, picture):
    monkeypatch.chdir(tmp_path)
    Path("text.png").write_text("no picture")
    np.save("int8.npy", np.zeros((40, 40), np.int8))
    np.save("cube.npy", np.zeros((40, 40, 3), np.uint16))
    np.save("empty.npy", np.zeros((0, 40), np.uint16))
    np.save("pixel.npy", np.zeros((1, 1), np.uint16))
    np.save("small.npy", np.zeros((10, 10), np.uint16))
    before = files(tmp_path)
    changed, status, sentence = BAD_RUNS[case]
    options = {"--input": "in.png", "--output": "out.png", **changed}
    arguments = [part for name, value in options.items() if value for part in (name, value)]
    out, err = spaces("run", "blur", *arguments, status=status)
    assert out == ""
    assert sentence in err
    assert err.endswith((".\n", "none.\n")), err
    assert files(tmp_path) == before


def test_a_failed_run_of_the_real_program_shows_no_stack(tmp_path):
    command = [SCRIPT, "run", "blur", "--input", "gone.png", "--output", tmp_path / "o.png"]
    result = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert result.returncode == 2
    assert result.stdout == ""
    assert result.stderr.count("\n") == 1
    assert files(tmp_path) == []


# Repairing


TOO_MANY_THREADS = """
    blur_y.gpu_tile(x, y, xi, yi, 32, 32);
    blur_x.compute_at(blur_y, x).gpu_threads(x, y);
"""


def test_verify_prints_the_nearest_legal_schedule_and_writes_it(sched, tmp_path):
    path, repaired = sched(TOO_MANY_THREADS), tmp_path / "repaired.sched"
    arguments = ("verify", "blur", "--schedule", path, "--device", "sm_80", "--repair")
    out, err = spaces(*arguments, "--output", repaired, status=1)
    assert "The nearest legal schedule changes 1 decision:" in out
    assert "  blur_y: split y by 30 instead of 32" in out
    assert "blur_y.gpu_tile(x, y, xi, yi, 32, 30)" in out
    assert f"{repaired} is written." in err
    legal, _ = spaces("verify", "blur", "--schedule", repaired, "--device", "sm_80")
    assert "The schedule is legal for sm_80." in legal


def test_verify_tells_a_repair_as_json(sched):
    path = sched("blur_y.parallel(yy)")
    out, _ = spaces("verify", "blur", "--schedule", path, "--repair", "--json", status=1)
    repaired = json.loads(out)["repair"]
    assert (repaired["answer"], repaired["changes"]) == ("nearest", 1)
    assert repaired["schedule"] == "blur_y.parallel(y)"


def test_verify_shows_the_sizes_for_which_a_schedule_is_legal(sched):
    path = sched("blur_y.split(x, x, xi, 256)")
    out, _ = spaces("verify", "blur", "--schedule", path)
    assert "blur_y.extent.0 >= 256: blur_y must have an extent along x of at least 256" in out
    as_json, _ = spaces("verify", "blur", "--schedule", path, "--json")
    assert json.loads(as_json)["preconditions"][0]["condition"] == "blur_y.extent.0 >= 256"
    # The estimate is 6400 wide: legal elsewhere.
    wide, _ = spaces("verify", "blur", "--schedule", sched("blur_y.split(x, x, xi, 8000)"),
                     status=1)  # fmt: skip
    assert "Sizes for which it is legal:\n  blur_y.extent.0 >= 8000" in wide


def test_an_output_without_a_repair_is_refused(sched, tmp_path):
    path = sched("blur_y.parallel(y)")
    _, err = spaces("verify", "blur", "--schedule", path, "-o", tmp_path / "x", status=2)
    assert "give --repair, too" in err


# Completing, and spaces without a legal schedule


def test_complete_prints_schedules_of_open_funcs_and_says_how_it_ended(sched):
    path = sched("blur_y.gpu_tile(x, y, xi, yi, 32, 8)")
    arguments = ("complete", "blur", "--schedule", path, "--device", "sm_80", "--limit")
    out, err = spaces(*arguments, 2)
    assert out.count("blur_y.gpu_tile(x, y, xi, yi, 32, 8)") == 2
    assert "There are more; see --limit." in err
    out, err = spaces(*arguments, 0)
    assert "These are all legal completions." in err
    as_json, _ = spaces(*arguments, 0, "--json")
    report = json.loads(as_json)
    assert report["end"] == "all"
    assert len(report["schedules"]) == out.count("# ")


def test_complete_says_why_there_is_no_completion(sched):
    path = sched("blur_y.gpu_tile(x, y, xi, yi, 64, 32)")
    _, err = spaces("complete", "blur", "--schedule", path, "--device", "sm_80", status=1)
    assert "gpu.threads-per-block of blur_y" in err


def test_an_empty_space_is_explained(tmp_path):
    app = tmp_path / "narrow.py"
    app.write_text(
        "import spaces\n"
        "def narrow():\n"
        "    x, f = spaces.Var('x'), spaces.Func('f')\n"
        "    f[x] = x * 2\n"
        "    return spaces.pipeline(f, estimates={f: [20]})\n"
    )
    name = f"{app}:narrow"
    out, _ = spaces("count", name)
    assert "0 legal schedules" in out
    assert "bounds.smaller-than-tile of f" in out
    for command in ("enumerate", "search"):
        _, err = spaces(command, name, status=1)
        assert "No schedule is legal. Together, this excludes all of them:" in err
        assert "f_xi is one of 64, 128, 256, 512." in err


def test_run_writes_each_array_of_a_tuple(tmp_path, picture):
    own = tmp_path / "own.py"
    own.write_text(
        "from spaces import Func, ImageParam, UInt8, Var, pipeline\n"
        "def both():\n"
        "    x, y = Var('x'), Var('y')\n"
        "    source, out = ImageParam(UInt8, 2, 'input'), Func('out')\n"
        "    out[x, y] = (source[x, y], source[x, y] / 2)\n"
        "    return pipeline(out)\n"
    )
    grey = tmp_path / "grey.npy"
    np.save(grey, np.arange(12, dtype=np.uint8).reshape(3, 4) * 9)
    whole, half = tmp_path / "whole.npy", tmp_path / "half.npy"
    out, _ = spaces(
        "run", f"{own}:both", "--input", grey, "--size", "4x2",
        "--output", f"out.0={whole}", "--output", f"out.1={half}",
    )  # fmt: skip
    assert "out.1, 4 x 2" in out
    np.testing.assert_array_equal(np.load(whole), np.load(grey)[:2])
    np.testing.assert_array_equal(np.load(half), np.load(grey)[:2] // 2)
