"""Where the buffers of a plan lie in its one piece of memory."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from spaces.backend.cuda.kernel import (
    AllocStep,
    BufferParam,
    CudaKernel,
    CudaModule,
    FreeStep,
    HostStep,
    LaunchStep,
    ProgramStep,
)
from spaces.backend.cuda.memory_pool import GRANULE
from spaces.backend.cuda.plan import plan
from spaces.backend.cuda.scratch import Scratch

TOUCH = CudaKernel("touch", (BufferParam("x", "signed char", written=True),), (1, 1, 1))
MODULE = CudaModule("", (TOUCH,))


def touch(name: str) -> LaunchStep:
    return LaunchStep("touch", (1, 1, 1), (name,))


@st.composite
def lives(draw: st.DrawFn) -> list[ProgramStep]:
    """Buffers that are made, used while they live, and freed at the end or before, beside steps of
    the host.
    """
    steps: list[ProgramStep] = []
    living: list[str] = []
    for number in range(draw(st.integers(1, 12))):
        what = draw(st.integers(0, 3))
        if what == 0 and living:
            steps.append(FreeStep(living.pop(draw(st.integers(0, len(living) - 1)))))
        elif what == 1:
            steps.append(HostStep("host", lambda arrays: None, (), ()))
        else:
            name = f"b{number}"
            living.append(name)
            steps.append(AllocStep(name, "signed char", draw(st.integers(0, 3 * GRANULE))))
        steps += [touch(name) for name in (*living, "given")]
    return [*steps, *(FreeStep(name) for name in living)]


@given(lives())
def test_buffers_that_live_together_lie_apart(steps: list[ProgramStep]) -> None:
    """Each pointer is where its buffer was put, which no other living buffer meets."""
    planned = plan(MODULE, steps, {})
    scratch = Scratch.of(planned)
    pointers = iter([place for part in scratch.pointers for place in part])
    sizes: dict[str, int] = {}
    places: dict[str, int] = {}
    most = 0
    for step in planned.steps:
        if isinstance(step, AllocStep):
            sizes[step.buffer] = step.nbytes
            most = max(most, sum(sizes.values()))
        elif isinstance(step, FreeStep):
            del sizes[step.buffer]
            places.pop(step.buffer, None)
        elif not isinstance(step, HostStep):
            ((name, _),) = step.buffers
            place = next(pointers)
            if name == "given":
                assert place == "given"
                continue
            assert isinstance(place, int)
            assert places.setdefault(name, place) == place
            assert place % GRANULE == 0
            assert place + sizes[name] <= scratch.nbytes
            for other, at in places.items():
                if other != name:
                    assert at + max(sizes[other], 1) <= place or place + max(sizes[name], 1) <= at
    assert scratch.nbytes >= most
    assert next(pointers, None) is None


def test_a_buffer_takes_the_place_of_one_that_is_freed() -> None:
    steps: list[ProgramStep] = []
    for name in ("a", "b", "c", "d"):
        steps += [AllocStep(name, "signed char", GRANULE), touch(name), FreeStep(name)]
    assert Scratch.of(plan(MODULE, steps, {})).nbytes == GRANULE
