import numpy as np
import pytest

from spaces.backend.cuda.emulator import ORDERS, ThreadOrder
from spaces.backend.cuda.errors import CudaLaunchError, DivergentBarrierError, SanitizerError
from spaces.backend.cuda.kernel import BufferParam, CudaKernel, CudaModule, LaunchStep
from spaces.backend.cuda.sanitizers import SanitizedEmulator, Sanitizers
from tests.backend.cuda.texts import SAXPY, blur, blur_steps, line_of, planted, saxpy_steps

MEMORY: Sanitizers = "address,undefined"
THREAD: Sanitizers = "thread"


def run_blur(module: CudaModule, sanitizers: Sanitizers, order: ThreadOrder = "forward") -> float:
    """The last pixel of a constant image of 13 x 11."""
    image = np.full((11, 13), 5, np.float32)
    out = np.zeros((11, 13), np.float32)
    SanitizedEmulator(sanitizers, order).run(
        module, blur_steps(13, 11), {"in": image, "out": out}, {"w": 13, "h": 11}
    )
    np.testing.assert_array_equal(out, 5)
    return float(out[-1, -1])


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("sanitizers", [MEMORY, THREAD])
def test_a_right_text_is_silent(sanitizers: Sanitizers, order: ThreadOrder) -> None:
    assert run_blur(blur(), sanitizers, order) == 5


@pytest.mark.parametrize(
    ("right", "wrong", "finding"),
    [
        # The row behind the last one, and many pixels before the first.
        ("min(max(y0 + i / 10 - 1, 0), h - 1)", "y0 + i / 10", "heap-buffer-overflow"),
        ("min(max(x0 + i % 10 - 1, 0), w - 1)", "x0 - 13 * 11", "heap-buffer-overflow"),
        ("(y0 + ty) * w + x0 + tx] =", "(y0 + ty + 1) * w + x0 + tx] =", "heap-buffer-overflow"),
        # Past one dimension of the tile, still inside of it; and past the tile.
        ("tile[ty + dy][tx + dx]", "tile[ty + dy][tx + dx + 1]", "index 10 out of bounds"),
        ("tile[ty + dy][tx + dx]", "at(&tile[ty + dy][0], tx + dx + 8)", "global-buffer-overflow"),
        ("sum / 9.0f", "sum / (float)(9 + (w << (w + 30)))", "shift exponent 43 is too large"),
        ("sum / 9.0f", "sum / (float)(2147483647 + w)", "signed integer overflow"),
    ],
)
def test_memory_and_undefined_operations_are_reported_with_their_line(
    right: str, wrong: str, finding: str
) -> None:
    helper = "static __device__ __noinline__ float at(const float* p, int i) { return p[i]; }\n"
    module = blur(helper + planted(right, wrong).source)
    with pytest.raises(SanitizerError) as raised:
        run_blur(module, MEMORY)
    assert finding in raised.value.finding
    # The report of a wrong read index names the line of the read.
    reads = {"y0 + i / 10": "in[y * w + x]", "x0 - 13 * 11": "in[y * w + x]"}
    culprit = "return p[i];" if wrong.startswith("at(") else reads.get(wrong, wrong)
    line = line_of(module.source, culprit)
    assert raised.value.line == line
    assert str(raised.value) == f"kernel blur_kernel, line {line} of the text: " + (
        raised.value.finding
    )
    assert f"module.cu:{line}" in raised.value.report


def test_dynamic_shared_memory_has_its_exact_size() -> None:
    text = """
        extern "C" __global__ void reach_kernel(int* __restrict__ out) {
            DYNAMIC_SHARED(bytes);
            out[0] = bytes[out[0]];
        }"""
    params = (BufferParam("out", "int", written=True),)
    kernel = CudaKernel("reach_kernel", params, (1, 1, 1), dynamic_shared_bytes=100)
    steps = (LaunchStep("reach_kernel", (1, 1, 1), ("out",)),)
    out = np.array([99], np.int32)
    SanitizedEmulator(MEMORY).run(CudaModule(text, (kernel,)), steps, {"out": out}, {})
    assert out[0] == 255
    out[0] = 100
    with pytest.raises(SanitizerError, match="heap-buffer-overflow"):
        SanitizedEmulator(MEMORY).run(CudaModule(text, (kernel,)), steps, {"out": out}, {})
    assert out[0] == 100


@pytest.mark.parametrize("order", ORDERS)
def test_a_missing_barrier_is_a_race_in_every_order(order: ThreadOrder) -> None:
    module = planted("    __syncthreads();\n", "")
    with pytest.raises(SanitizerError) as raised:
        run_blur(module, THREAD, order)
    assert raised.value.finding == "data race"
    assert raised.value.line in (
        line_of(module.source, "tile[i / 10][i % 10] ="),
        line_of(module.source, "sum += tile"),
    )


def loop_text(second_barrier: str) -> CudaModule:
    """Each round writes the row that the round before reads: each round needs two barriers."""
    text = f"""
        extern "C" __global__ void rounds_kernel(int* __restrict__ out) {{
            __shared__ int row[32];
            int i = (int)threadIdx.x, sum = 0;
            for (int round = 0; round < 4; ++round) {{
                row[i] = i + round;
                __syncthreads();
                sum += row[(i + 1) % 32];
                {second_barrier}
            }}
            out[i] = sum;
        }}"""
    params = (BufferParam("out", "int", written=True),)
    return CudaModule(text, (CudaKernel("rounds_kernel", params, (32, 1, 1)),))


def test_a_missing_second_barrier_of_a_loop_is_a_race() -> None:
    steps = (LaunchStep("rounds_kernel", (2, 1, 1), ("out",)),)
    out = np.zeros(32, np.int32)
    SanitizedEmulator(THREAD).run(loop_text("__syncthreads();"), steps, {"out": out}, {})
    np.testing.assert_array_equal(out, 4 * ((np.arange(32) + 1) % 32) + 6)
    with pytest.raises(SanitizerError, match="data race"):
        SanitizedEmulator(THREAD).run(loop_text(""), steps, {"out": out}, {})


def test_two_threads_that_write_one_element_race_in_global_memory() -> None:
    text = """extern "C" __global__ void clash_kernel(int* __restrict__ out) {
        out[threadIdx.x / 2] = (int)threadIdx.x;
    }"""
    params = (BufferParam("out", "int", written=True),)
    module = CudaModule(text, (CudaKernel("clash_kernel", params, (2, 1, 1)),))
    steps = (LaunchStep("clash_kernel", (1, 1, 1), ("out",)),)
    with pytest.raises(SanitizerError, match="line 2 of the text: data race"):
        SanitizedEmulator(THREAD).run(module, steps, {"out": np.zeros(1, np.int32)}, {})


@pytest.mark.parametrize("sanitizers", [MEMORY, THREAD])
def test_divergence_is_reported_here_too(sanitizers: Sanitizers) -> None:
    module = planted("    __syncthreads();", "    __syncthreads(); if (tx) __syncthreads();")
    with pytest.raises(DivergentBarrierError, match="while thread"):
        run_blur(module, sanitizers)


def test_an_endless_kernel_is_stopped() -> None:
    text = """extern "C" __global__ void spin_kernel(int* __restrict__ out) {
        while (((volatile int*)out)[0] == 0) {}
    }"""
    params = (BufferParam("out", "int", written=True),)
    module = CudaModule(text, (CudaKernel("spin_kernel", params, (1, 1, 1)),))
    steps = (LaunchStep("spin_kernel", (1, 1, 1), ("out",)),)
    out = np.zeros(1, np.int32)
    with pytest.raises(CudaLaunchError, match=r"spin_kernel did not end within 0\.2 s"):
        SanitizedEmulator(MEMORY, timeout_s=0.2).run(module, steps, {"out": out}, {})


def test_empty_images_launch_nothing() -> None:
    text = """extern "C" __global__ void mark_kernel(int* __restrict__ out) { out[0] = 7; }"""
    params = (BufferParam("out", "int", written=True),)
    module = CudaModule(text, (CudaKernel("mark_kernel", params, (1, 1, 1)),))
    for blocks, marked in ((0, 0), (1, 7)):
        out = np.zeros(1, np.int32)
        steps = (LaunchStep("mark_kernel", (blocks, 1, 1), ("out",)),)
        SanitizedEmulator(MEMORY).run(module, steps, {"out": out}, {})
        assert out[0] == marked
    empty = np.zeros(0, np.float32)
    SanitizedEmulator(MEMORY).run(SAXPY, saxpy_steps(0), {"x": empty, "y": empty}, {"a": 1, "n": 0})


def test_settings_are_checked() -> None:
    with pytest.raises(ValueError, match="sanitizers is 'memory'"):
        SanitizedEmulator("memory")  # type: ignore[arg-type]
