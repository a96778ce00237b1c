import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spaces.backend.cuda.emulator import ORDERS, Emulator, ThreadOrder
from spaces.backend.cuda.errors import CudaCompileError, DivergentBarrierError
from spaces.backend.cuda.host_build import library_text
from spaces.backend.cuda.kernel import (
    CTYPES,
    DYNAMIC_SHARED_PRELUDE,
    AllocStep,
    BufferParam,
    CudaKernel,
    CudaModule,
    LaunchStep,
    ScalarParam,
)
from tests.backend.cuda.texts import (
    BLUR_TEXT,
    SAXPY,
    SAXPY_TEXT,
    blur,
    blur_steps,
    line_of,
    planted,
    saxpy_steps,
)

orders = st.sampled_from(ORDERS)


def blurred(image: np.ndarray) -> np.ndarray:
    height, width = image.shape
    padded = np.pad(image, 1, mode="edge")
    total = np.zeros_like(image)
    for dy in range(3):
        for dx in range(3):
            total += padded[dy : dy + height, dx : dx + width]
    return total / np.float32(9)


def image_of(width: int, height: int) -> np.ndarray:
    return np.random.default_rng(7).random((height, width), dtype=np.float32)


def run_blur(module: CudaModule, width: int, height: int, emulator: Emulator) -> np.ndarray:
    out = np.full((height, width), np.nan, np.float32)
    emulator.run(
        module,
        blur_steps(width, height),
        {"in": image_of(width, height), "out": out},
        {"w": width, "h": height},
    )
    return out


@given(st.integers(0, 300), orders, st.integers(0, 2**64 - 1))
def test_saxpy_equals_numpy_bit_for_bit(n: int, order: ThreadOrder, seed: int) -> None:
    x = np.arange(n, dtype=np.float32) / 7
    y = np.arange(n, dtype=np.float32)[::-1] / 3
    expected = np.float32(0.1) * x + y
    Emulator(order, seed).run(SAXPY, saxpy_steps(n), {"x": x, "y": y}, {"a": 0.1, "n": n})
    np.testing.assert_array_equal(y, expected)


@given(st.integers(1, 40), st.integers(1, 40), orders, st.integers(0, 9))
def test_blur_through_shared_memory_equals_numpy_bit_for_bit(
    width: int, height: int, order: ThreadOrder, seed: int
) -> None:
    out = run_blur(blur(), width, height, Emulator(order, seed))
    np.testing.assert_array_equal(out, blurred(image_of(width, height)))


@pytest.mark.parametrize("order", ORDERS)
def test_a_missing_barrier_shows_as_nan(order: ThreadOrder) -> None:
    module = planted("    __syncthreads();\n", "")
    assert np.isnan(run_blur(module, 16, 16, Emulator(order))).any()


def test_a_missing_barrier_that_one_order_hides_shows_in_another() -> None:
    # Each thread reads the element of its left neighbour; in forward order, the neighbour has
    # always written it before.
    text = """
        extern "C" __global__ void left_kernel(int* __restrict__ out) {
            __shared__ int row[32];
            int i = (int)threadIdx.x;
            row[i] = i;
            out[i] = i > 0 ? row[i - 1] : 0;
        }"""
    params = (BufferParam("out", "int", written=True),)
    module = CudaModule(text, (CudaKernel("left_kernel", params, (32, 1, 1)),))
    out = {order: np.zeros(32, np.int32) for order in ORDERS}
    for order in ORDERS:
        steps = (LaunchStep("left_kernel", (1, 1, 1), ("out",)),)
        Emulator(order).run(module, steps, {"out": out[order]}, {})
    right = np.maximum(np.arange(32) - 1, 0)
    np.testing.assert_array_equal(out["forward"], right)
    np.testing.assert_array_equal(out["reverse"][1:], -1)  # 0xFF in each byte
    assert (out["shuffled"] == -1).any()


def test_a_barrier_in_a_branch_is_reported_with_both_threads_and_the_line() -> None:
    module = planted("    __syncthreads();\n", "    if (tx + ty * 8 < 50) __syncthreads();\n")
    line = line_of(module.source, "__syncthreads")
    with pytest.raises(DivergentBarrierError) as raised:
        run_blur(module, 16, 16, Emulator())
    assert str(raised.value) == (
        f"kernel blur_kernel, block (0, 0, 0): thread (0, 0, 0) waits at the barrier on "
        f"line {line} while thread (2, 6, 0) has returned"
    )


def test_a_return_before_a_barrier_is_reported() -> None:
    module = planted(
        "    __syncthreads();\n", "    if (x0 + tx >= w) return;\n    __syncthreads();\n"
    )
    np.testing.assert_array_equal(run_blur(module, 16, 8, Emulator()), blurred(image_of(16, 8)))
    with pytest.raises(DivergentBarrierError, match=r"\(1, 0, 0\):.*\(5, 0, 0\) has returned"):
        run_blur(module, 13, 8, Emulator())


def test_two_barriers_are_not_one() -> None:
    module = planted(
        "    __syncthreads();\n", "    if (tx < 4) __syncthreads(); else __syncthreads();\n"
    )
    with pytest.raises(DivergentBarrierError, match=r"(waits at the barrier .*){2}"):
        run_blur(module, 8, 8, Emulator())
    # The same library still works after an error.
    with pytest.raises(DivergentBarrierError):
        run_blur(module, 8, 8, Emulator("reverse"))


LAST_TEXT = """
extern "C" __global__ void last_kernel(int* __restrict__ last, int* __restrict__ seen) {
    int thread = (int)(threadIdx.x + 3 * (threadIdx.y + 2 * threadIdx.z));
    int block = (int)(blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z));
    int number = block * (int)(blockDim.x * blockDim.y * blockDim.z) + thread;
    last[0] = number;
    __syncthreads();
    seen[number] += 1;
    last[1] = number;
}
"""
LAST = CudaModule(
    LAST_TEXT,
    (
        CudaKernel(
            "last_kernel",
            (BufferParam("last", "int", written=True), BufferParam("seen", "int", written=True)),
            block=(3, 2, 4),
        ),
    ),
)


def run_last(emulator: Emulator) -> list[int]:
    last, seen = np.zeros(2, np.int32), np.zeros(24 * 60, np.int32)
    steps = (LaunchStep("last_kernel", (5, 3, 4), ("last", "seen")),)
    emulator.run(LAST, steps, {"last": last, "seen": seen}, {})
    np.testing.assert_array_equal(seen, 1)
    return [int(number) for number in last]


def test_orders_visit_every_thread_once_and_end_where_they_should() -> None:
    assert run_last(Emulator("forward")) == [1439, 1439]
    assert run_last(Emulator("reverse")) == [0, 0]
    drawn = [run_last(Emulator("shuffled", seed)) for seed in range(8)]
    assert drawn == [run_last(Emulator("shuffled", seed)) for seed in range(8)]
    assert len({tuple(each) for each in drawn}) > 5
    assert any(before != after for before, after in drawn)  # a new order behind the barrier


def test_shared_memory_does_not_outlive_a_block() -> None:
    text = """
        extern "C" __global__ void stale_kernel(float* __restrict__ out) {
            __shared__ float kept[4];
            __shared__ unsigned char bytes[3];
            out[blockIdx.x] = kept[threadIdx.x] + bytes[2];
            kept[threadIdx.x] = 1.0f;
            bytes[2] = 1;
        }"""
    params = (BufferParam("out", "float", written=True),)
    module = CudaModule(text, (CudaKernel("stale_kernel", params, (1, 1, 1)),))
    out = np.zeros(3, np.float32)
    Emulator().run(module, (LaunchStep("stale_kernel", (3, 1, 1), ("out",)),), {"out": out}, {})
    assert np.isnan(out).all()


def test_allocated_buffers_begin_as_nan() -> None:
    steps = (AllocStep("t", "float", 4), LaunchStep("saxpy_kernel", (1, 1, 1), ("t", "y", 1.0, 4)))
    y = np.ones(4, np.float32)
    Emulator().run(SAXPY, steps, {"y": y}, {})
    assert np.isnan(y).all()


def test_dynamic_shared_memory() -> None:
    text = (
        DYNAMIC_SHARED_PRELUDE
        + """
        extern "C" __global__ void flip_kernel(int* __restrict__ out, int* __restrict__ stale) {
            DYNAMIC_SHARED(bytes);
            int* row = (int*)(bytes + 400);
            stale[threadIdx.x] = row[threadIdx.x];
            row[threadIdx.x] = out[threadIdx.x];
            __syncthreads();
            out[threadIdx.x] = row[99 - threadIdx.x];
        }"""
    )
    params = (BufferParam("out", "int", written=True), BufferParam("stale", "int", written=True))
    kernel = CudaKernel("flip_kernel", params, (100, 1, 1), dynamic_shared_bytes=800)
    out, stale = np.arange(100, dtype=np.int32), np.zeros(100, np.int32)
    steps = (LaunchStep("flip_kernel", (1, 1, 1), ("out", "stale")),)
    Emulator("reverse").run(CudaModule(text, (kernel,)), steps, {"out": out, "stale": stale}, {})
    np.testing.assert_array_equal(out, np.arange(100)[::-1])
    np.testing.assert_array_equal(stale, -1)


def test_every_scalar_type_arrives_whole() -> None:
    limits = {
        name: np.iinfo(dtype).min if dtype.kind in "iu" else dtype.type(1.1)
        for name, dtype in CTYPES.items()
        if dtype.kind != "b"
    } | {"bool": True}
    params = [ScalarParam(f"s{at}", ctype) for at, ctype in enumerate(limits)]
    outs = [BufferParam(f"o{at}", ctype, written=True) for at, ctype in enumerate(limits)]
    declared = ", ".join(f"{each.declared_type()} {each.name}" for each in [*params, *outs])
    body = " ".join(f"o{at}[0] = s{at};" for at in range(len(limits)))
    text = f'extern "C" __global__ void copy_kernel({declared}) {{ {body} }}'
    module = CudaModule(text, (CudaKernel("copy_kernel", (*params, *outs), (1, 1, 1)),))
    buffers = {f"o{at}": np.zeros(1, CTYPES[ctype]) for at, ctype in enumerate(limits)}
    arguments = (*(f"s{at}" for at in range(len(limits))), *buffers)
    scalars = {f"s{at}": value for at, value in enumerate(limits.values())}
    Emulator().run(module, (LaunchStep("copy_kernel", (1, 1, 1), arguments),), buffers, scalars)
    assert [buffer[0] for buffer in buffers.values()] == list(limits.values())


CONVERT_TEXT = """
extern "C" __global__ void convert_kernel(
    const float* __restrict__ x, const double* __restrict__ d, int* __restrict__ i,
    unsigned int* __restrict__ u, long long* __restrict__ l, int* __restrict__ di) {
    int k = (int)blockIdx.x;
    i[k] = __float2int_rz(x[k]);
    u[k] = __float2uint_rz(x[k]);
    l[k] = __float2ll_rz(x[k]);
    di[k] = __double2int_rz(d[k]);
}
"""


def test_conversions_saturate_as_a_gpu_does() -> None:
    params = (
        BufferParam("x", "float", written=False),
        BufferParam("d", "double", written=False),
        BufferParam("i", "int", written=True),
        BufferParam("u", "unsigned int", written=True),
        BufferParam("l", "long long", written=True),
        BufferParam("di", "int", written=True),
    )
    module = CudaModule(CONVERT_TEXT, (CudaKernel("convert_kernel", params, (1, 1, 1)),))
    x = np.array([-1.5, 2.9, -1e30, 1e30, np.nan, 3e9, 2147483520.0], np.float32)
    out = {
        "i": np.zeros(7, np.int32),
        "u": np.zeros(7, np.uint32),
        "l": np.zeros(7, np.int64),
        "di": np.zeros(7, np.int32),
    }
    steps = (LaunchStep("convert_kernel", (7, 1, 1), ("x", "d", "i", "u", "l", "di")),)
    Emulator().run(module, steps, {"x": x, "d": x.astype(np.float64), **out}, {})
    # PTX ISA, cvt: integers clamp; NaN is 0 from .f32 to 32 bits, else the top bit alone.
    assert out["i"].tolist() == [-1, 2, -(2**31), 2**31 - 1, 0, 2**31 - 1, 2147483520]
    assert out["u"].tolist() == [0, 2, 0, 2**32 - 1, 0, 3000000000, 2147483520]
    assert out["l"].tolist() == [-1, 2, -(2**63), 2**63 - 1, -(2**63), 3000000000, 2147483520]
    assert out["di"].tolist() == [-1, 2, -(2**31), 2**31 - 1, -(2**31), 2**31 - 1, 2147483520]


def test_the_largest_block() -> None:
    text = SAXPY_TEXT.replace("64", "1024").replace("if (i < n)", "__syncthreads(); if (i < n)")
    module = CudaModule(text, (CudaKernel("saxpy_kernel", SAXPY.kernels[0].params, (1024, 1, 1)),))
    y = np.arange(2048, dtype=np.float32)
    steps = (LaunchStep("saxpy_kernel", (2, 1, 1), ("x", "y", 2.0, 2048)),)
    Emulator("shuffled").run(module, steps, {"x": np.ones(2048, np.float32), "y": y}, {})
    np.testing.assert_array_equal(y, np.arange(2048) + 2)


def test_a_text_that_differs_from_its_record_is_refused() -> None:
    kernel = SAXPY.kernels[0]
    swapped = (*kernel.params[:2], *kernel.params[:1:-1])
    module = CudaModule(SAXPY.source, (CudaKernel(kernel.name, swapped, kernel.block),))
    steps = (LaunchStep("saxpy_kernel", (1, 1, 1), ("x", "y", 1, 1.0)),)
    arrays = {"x": np.ones(1, np.float32), "y": np.ones(1, np.float32)}
    with pytest.raises(CudaCompileError, match="saxpy_kernel has other parameters than the text"):
        Emulator().run(module, steps, arrays, {})


def test_a_text_that_is_wrong_is_refused_with_its_line() -> None:
    module = planted("sum / 9.0f", "total / 9.0f")
    line = line_of(module.source, "total")
    with pytest.raises(CudaCompileError, match=rf"module\.cu:{line}:.*total") as raised:
        run_blur(module, 8, 8, Emulator())
    assert "total" in raised.value.log


def test_settings_are_checked() -> None:
    with pytest.raises(ValueError, match="order is 'sideways'; it is one of forward, reverse"):
        Emulator("sideways")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="seed"):
        Emulator("shuffled", -1)


def test_the_portable_switch_of_stacks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "spaces.backend.cuda.emulator.library_text",
        lambda module: "#define SHIM_UCONTEXT\n" + library_text(module),
    )
    module = blur(BLUR_TEXT + "// with ucontext\n")
    np.testing.assert_array_equal(
        run_blur(module, 21, 13, Emulator("reverse")), blurred(image_of(21, 13))
    )
