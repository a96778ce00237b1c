"""Plans of host programs: buffers live no longer than they are used."""

from __future__ import annotations

from spaces.backend.cuda.kernel import (
    AllocStep,
    BufferParam,
    CudaKernel,
    CudaModule,
    FreeStep,
    LaunchStep,
    ProgramStep,
)
from spaces.backend.cuda.plan import PlannedLaunch, plan

COPY = CudaKernel(
    "copy_kernel",
    (BufferParam("x", "int", written=False), BufferParam("y", "int", written=True)),
    block=(1, 1, 1),
)
MODULE = CudaModule("", (COPY,))


def copy(source: str, to: str, blocks: int = 1) -> LaunchStep:
    return LaunchStep(COPY.name, (blocks, 1, 1), (source, to))


def shown(steps: tuple[ProgramStep, ...]) -> list[str]:
    """What the plan of some steps does, in words."""
    found = []
    for step in plan(MODULE, steps, {}).steps:
        match step:
            case PlannedLaunch(buffers=((x, _), (y, _))):
                found.append(f"{x} to {y}")
            case AllocStep(buffer=buffer):
                found.append(f"make {buffer}")
            case FreeStep(buffer=buffer):
                found.append(f"free {buffer}")
    return found


def test_memory_lives_from_its_first_use_to_its_last() -> None:
    make = [AllocStep(name, "int", 4) for name in ("a", "b", "c")]
    free = [FreeStep(name) for name in ("c", "b", "a")]
    steps = (*make, copy("in", "a"), copy("a", "b"), copy("in", "out"), copy("b", "out"), *free)
    assert shown(steps) == [
        "make a", "in to a", "make b", "a to b", "free a", "in to out", "b to out", "free b",
        "make c", "free c",
    ]  # fmt: skip


def test_memory_that_nothing_frees_stays_where_it_is_made() -> None:
    assert shown((AllocStep("a", "int", 4), copy("in", "out"), copy("in", "a"))) == [
        "make a", "in to out", "in to a",
    ]  # fmt: skip


def test_each_life_of_a_name_ends_by_itself() -> None:
    once = (AllocStep("a", "int", 4), copy("in", "a"), copy("in", "out"), FreeStep("a"))
    one = ["make a", "in to a", "free a", "in to out"]
    assert shown((*once, *once)) == [*one, *one]


def test_a_grid_without_blocks_is_no_launch() -> None:
    assert shown((copy("in", "out", blocks=0), copy("in", "out"))) == ["in to out"]
