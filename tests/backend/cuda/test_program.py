from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from spaces.backend.cuda.emulator import Emulator, HostMemory
from spaces.backend.cuda.errors import CudaLaunchError, CudaProgramError
from spaces.backend.cuda.kernel import (
    AllocStep,
    BufferParam,
    CudaKernel,
    CudaModule,
    Dim3,
    FreeStep,
    HostStep,
    LaunchStep,
    ProgramStep,
    ScalarParam,
)
from spaces.backend.cuda.plan import PlannedLaunch
from spaces.backend.cuda.program import CudaExecutor, Session
from tests.backend.cuda.texts import SAXPY, saxpy_steps

ADD = "add_kernel"  # y += x, in Python
ADD_MODULE = CudaModule(
    "",
    (
        CudaKernel(
            ADD,
            (BufferParam("x", "int", written=False), BufferParam("y", "int", written=True)),
            block=(1, 1, 1),
        ),
    ),
)


class CountingDevice(HostMemory):
    """A device with NumPy memory and a Python kernel; it logs its work."""

    def __init__(self) -> None:
        self.log: list[str] = []
        self.living = 0

    def allocate(self, nbytes: int) -> NDArray[np.uint8]:
        self.living += 1
        return np.full(nbytes, 0xFF, np.uint8)

    def upload(self, memory: NDArray[np.uint8], host: NDArray[Any]) -> None:
        assert host.flags.c_contiguous
        self.log.append("up")
        memory[:] = host.reshape(-1).view(np.uint8)

    def download(self, memory: NDArray[np.uint8], host: NDArray[Any]) -> None:
        assert host.flags.c_contiguous
        self.log.append("down")
        host.reshape(-1).view(np.uint8)[:] = memory

    def launch(
        self, module: CudaModule, launch: PlannedLaunch, memory: Sequence[NDArray[np.uint8]]
    ) -> None:
        self.log.append("launch")
        x, y = memory
        y.view(np.int32)[:] += x.view(np.int32)

    def free(self, memory: NDArray[np.uint8]) -> None:
        self.living -= 1

    def wait(self) -> None:
        self.log.append("wait")


class Executor(CudaExecutor):
    """Runs programs on a given device."""

    def __init__(self, device: CountingDevice) -> None:
        self.device = device

    def session(
        self,
        module: CudaModule,
        buffers: Mapping[str, NDArray[Any]],
        unset: Collection[str] = (),
    ) -> Session[NDArray[np.uint8]]:
        return Session(self.device, module, buffers, unset)


def add(x: str, y: str) -> LaunchStep:
    return LaunchStep(ADD, (1, 1, 1), (x, y))


def test_copies_are_made_only_when_needed() -> None:
    device = CountingDevice()
    x, y, z = (np.full(3, value, np.int32) for value in (1, 10, 100))
    steps = (add("x", "y"), add("x", "y"), add("y", "z"))
    Executor(device).run(ADD_MODULE, steps, {"x": x, "y": y, "z": z}, {})
    # x, y and z go up once, y and z come down; x is never written.
    assert device.log == ["up", "up", "up", "launch", "launch", "launch", "down", "down"]
    assert (x[0], y[0], z[0]) == (1, 12, 112)
    assert device.living == 0


def test_a_host_step_sees_and_leaves_current_arrays() -> None:
    device = CountingDevice()
    x, y = np.ones(2, np.int32), np.zeros(2, np.int32)
    seen: list[int] = []

    def double(arrays: Mapping[str, NDArray[Any]]) -> None:
        assert set(arrays) == {"y"}
        seen.append(int(arrays["y"][0]))
        arrays["y"][0] *= 2  # the other element stays

    steps = (add("x", "y"), HostStep("double", double, reads=(), writes=("y",)), add("x", "y"))
    Executor(device).run(ADD_MODULE, steps, {"x": x, "y": y}, {})
    assert seen == [1]
    assert y.tolist() == [3, 2]
    assert device.log == ["up", "up", "launch", "down", "up", "launch", "down"]


def test_a_session_keeps_inputs_on_the_device() -> None:
    device = CountingDevice()
    x, y = np.ones(1, np.int32), np.zeros(1, np.int32)
    with Session(device, ADD_MODULE, {"x": x, "y": y}) as session:
        for _ in range(3):
            session.run((AllocStep("t", "int", 1), add("x", "y"), FreeStep("t")), {})
        session.wait()
        assert y[0] == 0
        session.fetch()
        session.fetch()
        assert device.living == 2
    assert y[0] == 3
    assert device.log == ["up", "up", "launch", "launch", "launch", "wait", "down"]
    assert device.living == 0


@given(
    shape=st.tuples(st.integers(0, 4), st.integers(1, 5)),
    transposed=st.booleans(),
    steps=st.tuples(st.integers(1, 3), st.sampled_from([-2, -1, 1, 2])),
)
def test_arrays_of_any_strides(
    shape: tuple[int, int], transposed: bool, steps: tuple[int, int]
) -> None:
    rows, columns = shape[0] * steps[0], shape[1] * abs(steps[1])
    storage = np.arange(rows * columns, dtype=np.int32).reshape(rows, columns)
    y = storage[:: steps[0], :: steps[1]]
    y = y.T if transposed else y
    x = np.arange(y.size, dtype=np.int32).reshape(y.shape)
    expected = storage.copy()
    view = expected[:: steps[0], :: steps[1]]
    view = view.T if transposed else view
    view += x
    Executor(CountingDevice()).run(ADD_MODULE, (add("x", "y"),), {"x": x, "y": y}, {})
    np.testing.assert_array_equal(storage, expected)


def read_only(array: NDArray[Any]) -> NDArray[Any]:
    array.flags.writeable = False
    return array


def one_launch(*arguments: str | float) -> tuple[ProgramStep, ...]:
    return (LaunchStep("saxpy_kernel", (1, 1, 1), arguments),)


F = np.ones(4, np.float32)


@pytest.mark.parametrize(
    ("steps", "buffers", "scalars", "message"),
    [
        (one_launch("x", "y", 1.0), {"x": F, "y": F}, {}, "takes 4 arguments (x, y, a, n), but"),
        (one_launch("x", "q", 1.0, 4), {"x": F}, {}, "buffer q, which is neither passed nor"),
        (one_launch("x", "y", "a", 4), {"x": F, "y": F}, {"n": 4}, "scalar a, which is not passed"),
        (
            one_launch("x", "y", 1.0, 4),
            {"x": F.astype(np.float64), "y": F},
            {},
            "buffer x holds float64, but parameter x of kernel saxpy_kernel is float (float32)",
        ),
        (
            one_launch("x", "y", 1.0, 2**31),
            {"x": F, "y": F},
            {},
            "parameter n of kernel saxpy_kernel is int, which does not hold 2147483648",
        ),
        (one_launch("x", "y", 1.0, 1.5), {"x": F, "y": F}, {}, "is int, which does not hold 1.5"),
        (one_launch("x", "x", 1.0, 4), {"x": F}, {}, "buffer x for both x and y and writes it"),
        (
            one_launch("x", "y", 1.0, 4),
            {"x": F, "y": read_only(F.copy())},
            {},
            "kernel saxpy_kernel writes buffer y, but its array is read-only",
        ),
        ((LaunchStep("nix", (1, 1, 1), ()),), {}, {}, "no kernel nix; it has saxpy_kernel"),
        ((), {"x": F.astype(np.complex64)}, {}, "buffer x holds complex64, which no CUDA type"),
        ((AllocStep("x", "float", 4),), {"x": F}, {}, "buffer x is allocated, but it exists"),
        ((FreeStep("x"),), {"x": F}, {}, "buffer x is freed, but it belongs to the caller"),
        ((FreeStep("t"),), {"x": F}, {}, "a step frees buffer t, which is neither passed nor"),
        (
            (AllocStep("t", "float", 1), HostStep("h", print, ("t",), ())),
            {},
            {},
            "host step h uses buffer t, which exists only on the device",
        ),
    ],
)
def test_arguments_that_do_not_fit_are_refused(
    steps: tuple[ProgramStep, ...],
    buffers: dict[str, NDArray[Any]],
    scalars: dict[str, int],
    message: str,
) -> None:
    with pytest.raises(CudaProgramError) as raised:
        Emulator().run(SAXPY, steps, buffers, scalars)
    assert message in str(raised.value)


@pytest.mark.parametrize(
    ("block", "grid", "message"),
    [
        (
            (33, 32, 1),
            (1, 1, 1),
            "blocks of 33 x 32 x 1 = 1056 threads; a block holds at",
        ),
        ((1, 1, 65), (1, 1, 1), "block of 65 along z; at most 64"),
        ((1, 1, 1), (1, 65536, 1), "grid of 65536 along y; at most 65535"),
        ((1, 1, 1), (2**31, 1, 1), "grid of 2147483648 along x; at most 2147483647"),
    ],
)
def test_launches_that_no_gpu_takes_are_refused(block: Dim3, grid: Dim3, message: str) -> None:
    module = CudaModule("", (CudaKernel("k", (), block),))
    with pytest.raises(CudaLaunchError) as raised:
        Executor(CountingDevice()).run(module, (LaunchStep("k", grid, ()),), {}, {})
    assert message in str(raised.value)


def test_a_failed_program_leaves_arrays_as_they_were() -> None:
    device = CountingDevice()
    x, y = np.ones(1, np.int32), np.zeros(1, np.int32)
    with pytest.raises(CudaProgramError):
        Executor(device).run(ADD_MODULE, (add("x", "y"), add("x", "q")), {"x": x, "y": y}, {})
    assert y[0] == 0
    assert device.living == 0


def test_records_check_themselves() -> None:
    with pytest.raises(ValueError, match="ctype is 'int8_t'; it is one of bool, signed char"):
        ScalarParam("n", "int8_t")
    with pytest.raises(ValueError, match="block is"):
        CudaKernel("k", (), (0, 1, 1))
    with pytest.raises(ValueError, match="grid is"):
        LaunchStep("k", (1, -1, 1), ())
    with pytest.raises(ValueError, match="elements"):
        AllocStep("t", "int", -1)
    assert AllocStep("t", "unsigned long long", 3).nbytes == 24
    assert BufferParam("x", "short", written=False).declared_type() == "const short*"


def test_a_record_declares_its_kernel() -> None:
    expected = SAXPY.source.strip().split(" {")[0].replace("(\n    ", "(")
    assert SAXPY.kernels[0].declaration() == expected


def test_programs_are_values() -> None:
    assert saxpy_steps(5) == saxpy_steps(64)
    assert hash(SAXPY) == hash(CudaModule(SAXPY.source, SAXPY.kernels))
