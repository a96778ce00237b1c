"""``spaces compile``: the files it writes."""

import json

from tests.apps.command_line import files, spaces


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
    assert "There is no pass 'x'; the passes for cpu are start, simplify" in err


def test_compile_writes_the_program_of_kernels_after_any_pass(tmp_path):
    written = {}
    gpu = ("--schedule", "gpu", "--device", "sm_80")
    for name in ("start", "gpu_memory", "flatten", "barriers"):
        spaces("compile", "blur", *gpu, "--after", name, "-o", tmp_path)
        written[name] = (tmp_path / "blur.program").read_text()
    assert "blur_x(" in written["start"]
    assert "in gpu_shared" in written["gpu_memory"]
    assert "blur_x[" in written["flatten"]
    assert "barrier" not in written["flatten"]
    assert "barrier" in written["barriers"]
    _, err = spaces("compile", "blur", *gpu, "--after", "vectorize", "-o", tmp_path, status=2)
    assert "the passes for sm_80 are start, simplify, gpu_loops" in err


def test_products_that_are_added_are_one_instruction_where_floats_need_not_be_strict(tmp_path):
    fused = {}
    for floats in ("strict", "contract", "fast"):
        given = ("--schedule", "cpu", "--floats", floats)
        spaces("compile", "conv_layer", *given, "-o", tmp_path)
        text = (tmp_path / "conv_layer.ll").read_text()
        fused[floats] = "fadd contract" in text, "fadd fast" in text
    assert fused == {"strict": (False,) * 2, "contract": (True, False), "fast": (False, True)}
    gpu = ("--schedule", "gpu", "--device", "sm_80", "--floats", "fast")
    _, err = spaces("compile", "conv_layer", *gpu, "-o", tmp_path, status=2)
    assert "--floats fast is for CPUs" in err


def test_hardened_code_says_in_its_header_what_it_returns(tmp_path):
    given = ("--schedule", "cpu", "--hardened")
    spaces("compile", "blur", *given, "-o", tmp_path)
    assert "@outside" in (tmp_path / "blur.ll").read_text()
    assert "before it touches memory that it did not obtain" in (tmp_path / "blur.h").read_text()
    gpu = ("--schedule", "gpu", "--device", "sm_80", "--hardened")
    _, err = spaces("compile", "blur", *gpu, "-o", tmp_path, status=2)
    assert "--hardened is for CPUs" in err


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


def test_advice_on_a_schedule_of_a_user_goes_to_the_error_stream(sched, tmp_path):
    path = sched("blur_y.parallel(y)\nblur_x.vectorize(x, 8)")
    _, err = spaces("compile", "blur", "--schedule", path, "--after", "start", "-o", tmp_path)
    assert err.startswith("Advice: line 2, column 1: advice.inlined-order: The loops of blur_x ")
    own = ("conv_layer", "--schedule", "cpu")
    assert "level-of-one-iteration" in spaces("verify", *own)[0]
    assert spaces("compile", *own, "--after", "start", "-o", tmp_path)[1] == ""
