"""Funcs that a schedule puts on the stack are there: what does not fit is illegal."""

from __future__ import annotations

import pytest

import spaces
from spaces.constraints.examples.algorithms import slopes

SLOPES = slopes()
STORED = "{func}.compute_at(out, {level}).store_in(MemoryType::Stack)"


def both(rows: int, dx: str, dy: str, more: str = "") -> str:
    """The schedule with both Funcs on the stack, at these loops of tiles of 512 columns."""
    stored = (STORED.format(func=f, level=at) for f, at in (("dx", dx), ("dy", dy)))
    return "\n".join((f"out.tile(x, y, xi, yi, 512, {rows}){more}", *stored))


def verdict(text: str) -> spaces.Verdict:
    return spaces.verify(SLOPES, spaces.parse_schedule(text, SLOPES), spaces.device("cpu"))


def takes_from_the_heap(text: str) -> bool:
    chosen = spaces.parse_schedule(text, SLOPES)
    return "malloc" in spaces.compile_cpu_unchecked(SLOPES, chosen).llvm_ir()


@pytest.mark.optimised  # small buffers leave the heap there
@pytest.mark.parametrize(
    "text",
    [
        both(128, "x", "x"),
        both(255, "x", "yi"),
        both(128, "x", "x", ".parallel(y)"),
        both(256, "x", "yi", ".parallel(yi)"),  # each iteration of yi has a frame of its own
    ],
)
def test_what_is_legal_lies_on_the_stack(text: str) -> None:
    assert isinstance(verdict(text), spaces.CheckedSchedule)
    assert not takes_from_the_heap(text)


@pytest.mark.parametrize(
    "text", [both(129, "x", "x"), both(256, "x", "yi"), both(129, "x", "x", ".parallel(y)")]
)
def test_what_does_not_fit_a_frame_is_illegal(text: str) -> None:
    (violation,) = verdict(text).violations
    assert violation.rule == "storage.stack-total"
    assert "dy, dx take 26" in violation.message
    assert takes_from_the_heap(text)
