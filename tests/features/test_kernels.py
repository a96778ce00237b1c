"""Features of GPU kernels in which Funcs are computed beside and inside one another."""

from spaces.apps.pipelines import blur, unsharp
from spaces.features.extraction import extract_features
from spaces.model.writing.text import parse_schedule

TILED = "output.gpu_tile(x, y, xi, yi, 32, 8).reorder(c, xi, yi, x, y)\n"


def read(text):
    pipeline = unsharp.pipeline()
    return extract_features(pipeline, parse_schedule(text, pipeline)).read_ints(pipeline.sizes())


def test_private_memory_is_counted_at_the_iteration_that_needs_most():
    (kernel,) = read(TILED + "repeat_edge.compute_at(output, c)").kernels
    assert kernel.private_bytes == 7 * 7 * 3 * 4  # three channels for gray, c among them


def test_funcs_computed_side_by_side_move_with_their_own_readers():
    found = read(TILED + "sharpen.compute_at(output, xi)\nratio.compute_at(output, xi)")
    output = found.func("output").stages[0]
    innermost = next(loop for loop in output.loops if loop.loop == "xi")
    for name in ("sharpen", "ratio"):
        assert found.moved_vars(found.func(name).stages[0], innermost) == {"x"}


def test_a_kernel_launched_in_a_loop_has_the_blocks_of_a_typical_launch():
    pipeline = blur.pipeline()
    text = "blur_x.store_root().compute_at(blur_y, y).gpu_blocks(x, y)"
    (kernel,) = (
        extract_features(pipeline, parse_schedule(text, pipeline)).read(pipeline.sizes()).kernels
    )
    assert kernel.blocks == 6400  # all lines but the first compute one line of three
