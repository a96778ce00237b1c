"""What is noted of a schedule beside its time."""

from __future__ import annotations

import pytest

from spaces import LocalMeasurer, MeasuringLimits, RunOutcome, device
from spaces.backend.compile import CompiledPipeline, compile_cpu
from spaces.backend.measuring.metrics import check_metrics, code_bytes, memory_bytes
from spaces.constraints.legality.verify import verify
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.writing.text import parse_schedule
from tests.enumerate.pipelines import blur

PIPE = blur(64, 32)


def compiled(text: str, threads: int = 4, pipe: Pipeline = PIPE) -> CompiledPipeline:
    checked = verify(pipe, parse_schedule(text, pipe), device("cpu"))
    assert checked
    return compile_cpu(checked, threads=threads)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "threads", "expected"),
    [
        ("", 4, 0),  # inlined
        ("blur_x.compute_root()", 4, 64 * 34 * 2),
        ("blur_x.compute_root(); blur_y.parallel(y)", 4, 64 * 34 * 2),
        ("blur_x.compute_at(blur_y, y); blur_y.parallel(y)", 4, 4 * 64 * 3 * 2),
        ("blur_x.compute_at(blur_y, y); blur_y.parallel(y)", 100, 32 * 64 * 3 * 2),
        ("blur_x.compute_at(blur_y, yi); blur_y.split(y, y, yi, 16).parallel(y)", 4, 2 * 384),
        ("blur_x.compute_at(blur_y, y)", 4, 64 * 3 * 2),
    ],
)  # fmt: skip
def test_each_thread_has_the_memory_that_is_stored_inside_its_loop(
    text: str, threads: int, expected: int
) -> None:
    """Rows of 64 values of two bytes; a row of the output reads three."""
    assert memory_bytes(compiled(text, threads)) == expected


def test_unrolled_code_is_longer() -> None:
    plain, unrolled = (
        code_bytes(compiled(f"blur_y.split(x, x, xi, 16){more}")) for more in ("", ".unroll(xi)")
    )
    assert 50 < plain < unrolled < 1e6


def vectors(found: CompiledPipeline) -> float:
    """The loads of vectors in the code."""
    return float(found.llvm_ir().count("load <"))


def fails(found: CompiledPipeline) -> float:
    raise RuntimeError("no such counter")


def gives_text(found: CompiledPipeline) -> float:
    return "many"  # type: ignore[return-value]


def test_metrics_come_from_the_worker_that_compiles() -> None:
    """Those that fail are left out, and cost the schedule nothing."""
    own = {"vectors": vectors, "broken": fails, "text": gives_text}
    schedules = [
        parse_schedule(text, PIPE)
        for text in ("blur_y.vectorize(x, 8)", "blur_x.compute_root()", "blur_y.vectorize(x, 128)")
    ]
    limits = MeasuringLimits(rounds=1)
    with LocalMeasurer(metrics=own, limits=limits, workers=1) as measurer:
        wide, rows, illegal = measurer.measure(PIPE, schedules)
    assert wide.is_correct
    assert rows.is_correct
    assert wide.metric("memory_bytes") == 0.0
    assert rows.metric("memory_bytes") == 64 * 34 * 2
    assert (rows.metric("code_bytes") or 0) > 50
    assert (wide.metric("vectors") or 0) > 0
    assert (illegal.outcome, illegal.metrics) == (RunOutcome.ILLEGAL, ())
    assert dict(wide.metrics).keys() == {"memory_bytes", "code_bytes", "vectors"}


def test_metrics_that_no_worker_can_have_get_a_sentence() -> None:
    with pytest.raises(ValueError, match=r"Metric mine cannot be sent to a worker .* of a module"):
        LocalMeasurer(metrics={"mine": lambda found: 1.0})
    for name in "time", "code_bytes", "two words":
        with pytest.raises(ValueError, match=f"A metric is called '{name}'; choose an identifier"):
            check_metrics({name: vectors})
