import re

import pytest

from spaces.backend.compile_gpu import compile_gpu_unchecked
from spaces.backend.cuda import nvrtc
from spaces.backend.cuda.errors import CudaCompileError, CudaUnavailable
from spaces.backend.cuda.nvrtc import KernelResources, available_archs, compile_cuda, read_resources
from spaces.backend.llvm.operators import FloatMode
from spaces.model.algorithm.freeze import pipeline
from spaces.model.algorithm.func import Func
from spaces.model.algorithm.image_param import ImageParam
from spaces.model.algorithm.var import Var
from spaces.model.expressions import functions as fn
from spaces.model.expressions.types import Float32
from spaces.model.writing.text import parse_schedule
from tests.backend.cuda.texts import BLUR_TEXT, SAXPY_TEXT, blur

try:
    MISSING = "" if available_archs() else "NVRTC compiles for nothing"
except CudaUnavailable as error:
    MISSING = str(error)

needs_nvrtc = pytest.mark.skipif(bool(MISSING), reason=MISSING)


@needs_nvrtc
@pytest.mark.parametrize("arch", ["sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_120"])
def test_resources_of_each_kernel(arch: str) -> None:
    compiled = compile_cuda(BLUR_TEXT + SAXPY_TEXT, arch)
    assert set(compiled.kernels) == {"blur_kernel", "saxpy_kernel"}
    blurred, scaled = compiled.kernels["blur_kernel"], compiled.kernels["saxpy_kernel"]
    assert blurred.shared_bytes == blur().kernels[0].static_shared_bytes == 10 * 10 * 4
    assert scaled.shared_bytes == 0
    for each in (blurred, scaled):
        assert 4 <= each.registers <= 64
        assert (each.spill_store_bytes, each.spill_load_bytes, each.stack_bytes) == (0, 0, 0)
    assert compiled.cubin[:4] == b"\x7fELF"
    assert f".target {arch}" in compiled.ptx
    assert compiled.ptx.rstrip().endswith("}")


@needs_nvrtc
def test_nothing_is_contracted_unless_asked_for() -> None:
    assert "fma" not in compile_cuda(SAXPY_TEXT).ptx
    assert "fma.rn.f32" in compile_cuda(SAXPY_TEXT, float_mode=FloatMode.CONTRACT).ptx


@needs_nvrtc
def test_spills_are_read() -> None:
    # 200 values are live at once, but two blocks of 1024 threads leave 32 registers for each
    # thread.
    lines = [f"float v{i} = in[i0 + {i} * 1024];" for i in range(200)]
    uses = [f"out[i0 + {i} * 1024] = v{i} * v{(i + 7) % 200};" for i in range(199, -1, -1)]
    text = (
        'extern "C" __global__ void __launch_bounds__(1024, 2) crowded_kernel('
        "const volatile float* in, volatile float* out) { int i0 = (int)threadIdx.x;\n"
        + "\n".join([*lines, "__syncthreads();", *uses])
        + "}"
    )
    crowded = compile_cuda(text).kernels["crowded_kernel"]
    assert crowded.registers == 32
    assert crowded.spill_store_bytes >= 4 * (200 - 32)
    assert crowded.spill_load_bytes >= crowded.spill_store_bytes
    assert crowded.stack_bytes >= 4 * (200 - 32)


@needs_nvrtc
def test_static_shared_memory_ends_at_48_kilobytes() -> None:
    def text(count: int) -> str:
        return f"""extern "C" __global__ void big_kernel(float* __restrict__ out) {{
            __shared__ float all[{count}];
            all[threadIdx.x] = out[threadIdx.x];
            __syncthreads();
            out[threadIdx.x] = all[threadIdx.x ^ 1];
        }}"""

    assert compile_cuda(text(12288)).kernels["big_kernel"].shared_bytes == 49152
    with pytest.raises(CudaCompileError, match="too much shared data") as raised:
        compile_cuda(text(12289))
    assert "ptxas info" not in str(raised.value)
    assert "ptxas info" in raised.value.log


@needs_nvrtc
def test_a_wrong_text_is_refused_with_its_line() -> None:
    wrong = BLUR_TEXT.replace("sum / 9.0f", "total / 9.0f")
    with pytest.raises(CudaCompileError, match=r'module\.cu\(15\): error: .*"total" is undefined'):
        compile_cuda(wrong)


@needs_nvrtc
def test_an_unknown_architecture_is_refused_with_those_there_are() -> None:
    with pytest.raises(CudaCompileError, match=r"sm_80.*; sm_12 is not among them"):
        compile_cuda(SAXPY_TEXT, "sm_12")
    assert all(re.fullmatch(r"sm_\d+", arch) for arch in available_archs())


def test_a_missing_library_is_reported_with_the_extra_that_holds_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(nvrtc, "_candidates", lambda: iter(()))
    monkeypatch.setattr(nvrtc, "_library", nvrtc._library.__wrapped__)
    with pytest.raises(CudaUnavailable, match=r"pip install '\.\[cuda-check\]'"):
        compile_cuda(SAXPY_TEXT)


def test_the_log_of_two_kernels_with_a_helper_between() -> None:
    # The format of ptxas -v; the numbers are invented and all differ.
    log = """ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'first' for 'sm_80'
ptxas info    : Function properties for helper
ptxas         .     1 bytes stack frame, 2 bytes spill stores, 3 bytes spill loads
ptxas info    : Function properties for first
ptxas         .     40 bytes stack frame, 50 bytes spill stores, 60 bytes spill loads
ptxas info    : Used 70 registers, used 1 barriers, 400 bytes smem, 376 bytes cmem[0]
ptxas info    : Compile time = 22.638 ms
ptxas info    : Compiling entry function 'second' for 'sm_80'
ptxas info    : Function properties for second
    5 bytes stack frame, 6 bytes spill stores, 7 bytes spill loads
ptxas info    : Used 8 registers, used 0 barriers, 380 bytes cmem[0]
"""
    assert read_resources(log) == {
        "first": KernelResources(70, 400, 50, 60, 40),
        "second": KernelResources(8, 0, 6, 7, 5),
    }


@needs_nvrtc
def test_fast_floats_take_the_instructions_of_the_gpu() -> None:
    """Products and sums are fused, minima ignore NaN, and quotients are approximate."""
    x, image = Var("x"), ImageParam(Float32, 1, "image")
    f = Func("f")
    f[x] = fn.min(image[x] * 2.5 + 1, image[x + 1]) / image[x + 2]
    algorithm = pipeline(f)
    schedule = parse_schedule("f.gpu_tile(x, xi, 64);", algorithm)
    texts = {
        mode: compile_gpu_unchecked(algorithm, schedule, float_mode=mode) for mode in FloatMode
    }
    assert len({one.source for one in texts.values()}) == 1
    ptx = {m: compile_cuda(c.source, "sm_90", float_mode=m).ptx for m, c in texts.items()}
    fused = {mode for mode, text in ptx.items() if "fma.rn" in text}
    assert fused == {FloatMode.CONTRACT, FloatMode.FAST}
    assert {mode for mode, text in ptx.items() if "min.f" in text or "min.ftz" in text} == {
        FloatMode.FAST
    }
    assert "div.approx" in ptx[FloatMode.FAST]
    assert "div.rn" in ptx[FloatMode.STRICT]
