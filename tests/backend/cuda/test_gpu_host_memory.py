"""Memory of the CPU around kernels: schedules that verify accepts lower there."""

import pytest

from spaces import Func, ImageParam, Int32, Var, device, pipeline, schedule, verify
from tests.backend.cuda.gpu_runs import check, image

X, Y = Var("x"), Var("y")


@pytest.mark.parametrize("memory", ["auto", "heap", "stack", "register"])
@pytest.mark.parametrize("on_cpu", ["a", "b"])
def test_a_func_of_the_cpu_beside_a_kernel(memory: str, on_cpu: str):
    source = ImageParam(Int32, 2, "input")
    a, b, out = Func("a"), Func("b"), Func("out")
    a[X, Y] = source[X, Y] * 2
    b[X, Y] = source[X, Y] + 1
    out[X, Y] = a[X, Y] + b[X + 1, Y]
    p = pipeline(out)
    on_gpu = "b" if on_cpu == "a" else "a"
    s = schedule(p).tile("x", "y", "xi", "yi", 8, 4)
    s = s.func(on_cpu).compute_at("out", "x").store_in(memory)
    s = s.func(on_gpu).compute_at("out", "x").gpu_blocks("y").gpu_threads("x")
    assert verify(p, s.schedule, device("sm_75"))
    check(p, s, {"input": image(p, "input", 25, 12)}, {"out": [24, 12]})
