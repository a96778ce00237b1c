"""Scratch memory is allocated when a Func is computed and freed after its last read."""

import numpy as np
import pytest

from spaces import Func, ImageParam, Int32, Var, compile_cpu_unchecked, pipeline, schedule
from spaces.backend.llvm.runtime.helpers import release_scratch, scratch_bytes

X, Y = Var("x"), Var("y")
EDGE = 512
MIB = EDGE * EDGE * 4


def chain(stages, also_reads):
    """Each Func adds its number to the Func before; the last one also adds the Funcs
    ``also_reads``.
    """
    image = ImageParam(Int32, 2, "image")
    made = [image]
    for number in range(stages):
        func = Func(f"f{number}")
        value = made[-1][X, Y] + number
        if number == stages - 1:
            for other in also_reads:
                value = value + made[1 + other][X, Y]
        func[X, Y] = value
        made.append(func)
    return pipeline(made[-1]), [f.name for f in made[1:-1]]


def run(algorithm, roots, image):
    directives = schedule(algorithm)
    for name in roots:
        directives = directives.func(name).compute_root()
    release_scratch()
    compiled = compile_cpu_unchecked(algorithm, directives.schedule, threads=1)
    (result,) = compiled.run({"image": image}, sizes={algorithm.outputs[0]: (EDGE, EDGE)}).values()
    return result


@pytest.mark.parametrize(
    ("also_reads", "blocks"), [((), 2), ((0,), 3), ((0, 4), 4), (range(9), 9)], ids=str
)
def test_a_chain_keeps_memory_of_funcs_that_are_still_read(also_reads, blocks):
    image = np.arange(EDGE * EDGE, dtype=np.int32).reshape(EDGE, EDGE) % 1000
    algorithm, roots = chain(10, also_reads)
    result = run(algorithm, roots, image)
    # Func n is the image and the sum of 0 .. n.
    others = sum(image + n * (n + 1) // 2 for n in also_reads)
    np.testing.assert_array_equal(result, image + 45 + others)
    assert blocks * MIB <= scratch_bytes() <= blocks * MIB * 5 / 4


def test_storage_that_a_loop_reads_stays_until_its_end():
    """Every line of the loop around the second Func's storage needs both Funcs."""
    image = np.arange(EDGE * EDGE, dtype=np.int32).reshape(EDGE, EDGE)
    source, first, line, out = ImageParam(Int32, 2, "image"), Func("a"), Func("b"), Func("c")
    first[X, Y] = source[X, Y] * 3
    line[X, Y] = first[X, Y] + 1
    out[X, Y] = line[X, Y] - first[EDGE - 1 - X, Y]
    algorithm = pipeline(out)
    directives = schedule(algorithm).func("a").compute_root().func("b")
    directives = directives.compute_at("c", "y").store_in("heap").hoist_storage_root()
    compiled = compile_cpu_unchecked(algorithm, directives.schedule, threads=1)
    release_scratch()
    (result,) = compiled.run({"image": image}, sizes={"c": (EDGE, EDGE)}).values()
    np.testing.assert_array_equal(result, image * 3 + 1 - image[:, ::-1] * 3)
    # The memory of a line is freed once, not for each line.
    assert scratch_bytes() <= MIB * 5 / 4 + 8 * EDGE
