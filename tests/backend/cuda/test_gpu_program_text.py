"""Programs of kernels as text."""

import pytest

from spaces import compile_gpu_unchecked, parse_schedule
from spaces.apps.pipelines import blur
from spaces.backend.lowering.gpu.passes import GPU_PASSES

BLUR = blur.pipeline()
KERNEL = "blur_y.gpu_tile(x, y, xi, yi, 16, 8); blur_x.compute_at(blur_y, x).gpu_threads(x, y)"


def test_there_is_a_text_after_each_pass():
    compiled = compile_gpu_unchecked(BLUR, parse_schedule(KERNEL, BLUR))
    texts = [compiled.program_text(name) for name in ("start", *GPU_PASSES)]
    assert all(text.startswith("program blur:\n") for text in texts)
    assert "gpu_block blur_y.s0.y" in texts[0]
    with pytest.raises(KeyError, match="There is no pass 'parallel'; there are start, simplify"):
        compiled.program_text("parallel")


def test_each_case_has_a_program_of_its_own():
    wide = "blur_y.specialize(blur_y.extent.0 >= 64).gpu_tile(x, y, xi, yi, 64, 4);"
    plain = "blur_y.gpu_tile(x, y, xi, yi, 16, 8)"
    compiled = compile_gpu_unchecked(BLUR, parse_schedule(f"{wide} {plain}", BLUR))
    text = compiled.program_text("barriers")
    assert text.count("program blur:") == len(compiled.programs) == 2
    assert text.startswith("where blur_y.extent.0 >= 64:\n")
