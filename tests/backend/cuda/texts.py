"""Hand-written CUDA texts for the tests: correct ones, and ones with a planted mistake."""

from spaces.backend.cuda.kernel import BufferParam, CudaKernel, CudaModule, LaunchStep, ScalarParam

SAXPY_TEXT = """
extern "C" __global__ void __launch_bounds__(64) saxpy_kernel(
    const float* __restrict__ x, float* __restrict__ y, float a, int n) {
    int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    if (i < n) y[i] = a * x[i] + y[i];
}
"""

SAXPY = CudaModule(
    SAXPY_TEXT,
    (
        CudaKernel(
            "saxpy_kernel",
            (
                BufferParam("x", "float", written=False),
                BufferParam("y", "float", written=True),
                ScalarParam("a", "float"),
                ScalarParam("n", "int"),
            ),
            block=(64, 1, 1),
        ),
    ),
)


def saxpy_steps(n: int) -> tuple[LaunchStep, ...]:
    return (LaunchStep("saxpy_kernel", (-(-n // 64), 1, 1), ("x", "y", "a", "n")),)


# Sums 3x3 neighbours, with the image's edge repeated, through a tile in shared memory.
BLUR_TEXT = """\
extern "C" __global__ void __launch_bounds__(64) blur_kernel(
    const float* __restrict__ in, float* __restrict__ out, int w, int h) {
    __shared__ float tile[10][10];
    int tx = (int)threadIdx.x, ty = (int)threadIdx.y;
    int x0 = (int)blockIdx.x * 8, y0 = (int)blockIdx.y * 8;
    for (int i = ty * 8 + tx; i < 100; i += 64) {
        int x = min(max(x0 + i % 10 - 1, 0), w - 1);
        int y = min(max(y0 + i / 10 - 1, 0), h - 1);
        tile[i / 10][i % 10] = in[y * w + x];
    }
    __syncthreads();
    float sum = 0.0f;
    for (int dy = 0; dy < 3; ++dy)
        for (int dx = 0; dx < 3; ++dx) sum += tile[ty + dy][tx + dx];
    if (x0 + tx < w && y0 + ty < h) out[(y0 + ty) * w + x0 + tx] = sum / 9.0f;
}
"""


def line_of(text: str, words: str) -> int:
    """The line, counted from 1, of the only occurrence of `words`."""
    assert text.count(words) == 1
    return text[: text.index(words)].count("\n") + 1


def blur(text: str = BLUR_TEXT) -> CudaModule:
    params = (
        BufferParam("in", "float", written=False),
        BufferParam("out", "float", written=True),
        ScalarParam("w", "int"),
        ScalarParam("h", "int"),
    )
    return CudaModule(
        text, (CudaKernel("blur_kernel", params, (8, 8, 1), static_shared_bytes=400),)
    )


def planted(right: str, wrong: str) -> CudaModule:
    """The blur with one place changed."""
    assert BLUR_TEXT.count(right) == 1
    return blur(BLUR_TEXT.replace(right, wrong))


def blur_steps(width: int, height: int) -> tuple[LaunchStep, ...]:
    grid = (-(-width // 8), -(-height // 8), 1)
    return (LaunchStep("blur_kernel", grid, ("in", "out", "w", "h")),)
