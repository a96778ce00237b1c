"""``spaces run``: pictures and arrays, and the messages about bad ones."""

from pathlib import Path

import numpy as np
import pytest

from spaces import APPS, evaluate, gpu_available
from spaces.apps.files import read_photograph
from spaces.apps.photographs import photograph as bundled
from spaces.apps.pictures import clipped, to_array
from spaces.backend.llvm.runtime.blocks import i64
from spaces.backend.llvm.statements import Statements
from tests.apps.command_line import files, spaces
from tests.apps.formulas import blur, photograph

pytestmark = pytest.mark.usefixtures("quickly")


@pytest.mark.parametrize("schedule", ["default", "cpu"])
def test_run_writes_the_picture_that_the_reference_computes(tmp_path, picture, schedule):
    output = tmp_path / "out.png"
    spaces("run", "unsharp", "--input", picture, "--output", output, "--schedule", schedule)
    pipeline = APPS["unsharp"].pipeline()
    array = to_array(photograph(60, 90), pipeline.image("input"))
    expected = evaluate(pipeline, {"input": array}, sizes={"output": (90, 60, 3)})["output"]
    difference = read_photograph(output).astype(int) - clipped(expected)
    assert np.abs(difference).max() <= 1


def test_floats_may_round_otherwise_where_that_is_asked_for(tmp_path, picture):
    for floats in ("strict", "fast"):
        output = tmp_path / f"{floats}.npy"
        spaces("run", "unsharp", "--input", picture, "--output", output, "--floats", floats)
    strict, fast = (np.load(tmp_path / f"{floats}.npy") for floats in ("strict", "fast"))
    assert (strict != fast).any()
    np.testing.assert_allclose(strict, fast, rtol=1e-4, atol=1e-6)


def test_hardened_code_computes_the_same(tmp_path, picture):
    for mode in ((), ("--hardened",)):
        output = tmp_path / f"out{len(mode)}.npy"
        spaces("run", "harris", "--input", picture, "--output", output, *mode)
    plain, hardened = (np.load(tmp_path / f"out{n}.npy") for n in range(2))
    np.testing.assert_array_equal(plain, hardened)


def test_an_access_outside_of_memory_is_a_sentence(tmp_path, picture, monkeypatch):
    halved = Statements._bytes
    monkeypatch.setattr(
        Statements, "_bytes", lambda self, *given: self._build.ashr(halved(self, *given), i64(1))
    )
    text = tmp_path / "root.sched"
    text.write_text("blur_x.compute_root();")
    given = ("run", "blur", "--schedule", text, "--input", picture, "--hardened")
    _, err = spaces(*given, "--output", tmp_path / "out.npy", status=1)
    assert "The compiled program writes blur_x(" in err
    assert "outside of its memory (dimension 0 holds" in err


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


def test_a_size_begins_where_the_stencil_fits_into_the_image(tmp_path):
    """The first output of a stencil of 3 x 3 is at (1, 1) of the image."""
    image = np.random.default_rng(0).integers(0, 9999, (40, 50), np.uint16)
    np.save(tmp_path / "in.npy", image)
    for size in ("41x33", "1:41x33", "41x1:33"):
        spaces("run", "blur", "--input", tmp_path / "in.npy", "--output", tmp_path / "out.npy",
               "--size", size)  # fmt: skip
        np.testing.assert_array_equal(
            np.load(tmp_path / "out.npy"), blur({"input": image}, ())[:33, :41]
        )


def test_what_no_schedule_can_do_is_not_laid_to_the_schedule(tmp_path, picture):
    _, err = spaces("run", "blur", "--input", picture, "--size", "500x500", status=1)
    assert "Image input is read up to coordinate" in err
    assert "--schedule" not in err


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
    assert "Pipeline f also reads b" in err


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
    "size of other dimensions": ({"--size": "4"}, 1, "its size names 1; write the size"),
    "bad size": ({"--size": "big"}, 2, "'big' is not a size"),
    "bad parameter": ({"--set": "k"}, 2, "has no number"),
    "unknown parameter": ({"--set": "k=1"}, 1, "has no parameter 'k'"),
    "no picture format": ({"--output": "out.xyz"}, 2, "is not a picture format"),
    "no folder": ({"--output": "gone/out.png"}, 2, "there is no folder gone"),
    "illegal schedule": ({"--schedule": "gpu"}, 1, "illegal for cpu"),
    "smaller than the app's schedule": (
        {"--input": "small.npy"},
        1,
        "The app's schedule cpu needs this; --schedule default accepts the sizes.",
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


def test_a_size_that_does_not_fit_is_refused_before_anything_is_compiled(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delattr("spaces.apps.command_line.run.compile_cpu")
    _, err = spaces("run", "lens_blur", "--size", "4x4x3", status=1)
    assert "at least 16 wide along x" in err
    assert "--schedule default accepts the sizes" in err


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


@pytest.mark.skipif(gpu_available()[0], reason="this machine has a GPU")
@pytest.mark.parametrize("hardened", [(), ("--hardened",)])
def test_without_a_gpu_the_emulator_runs_the_kernels_and_the_command_says_so(tmp_path, hardened):
    image = np.random.default_rng(0).integers(0, 9999, (40, 50), np.uint16)
    np.save(tmp_path / "in.npy", image)
    out, err = spaces("run", "blur", "--input", tmp_path / "in.npy", "--output",
                      tmp_path / "out.npy", "--device", "sm_90", *hardened)  # fmt: skip
    np.testing.assert_array_equal(np.load(tmp_path / "out.npy"), blur({"input": image}, ()))
    assert out.endswith(" ms on the emulator\n")
    assert err.startswith("No GPU runs the kernels (there is no CUDA driver")
    assert err.endswith("The emulator runs them on the CPU.\n")


def test_threads_are_for_the_cpu(tmp_path):
    _, err = spaces("run", "blur", "--device", "sm_90", "--threads", "2", status=2)
    assert "--threads is for the CPU" in err
