import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

from spaces import CudaUnavailable, Emulator, FloatMode, GpuExecutor, gpu_available
from spaces.backend.cuda import launch
from spaces.backend.cuda.errors import CudaLaunchError
from spaces.backend.cuda.kernel import (
    AllocStep,
    BufferParam,
    CudaKernel,
    CudaModule,
    FreeStep,
    LaunchStep,
    ScalarParam,
)
from spaces.backend.cuda.plan import plan
from tests.backend.cuda.texts import SAXPY, blur, blur_steps, saxpy_steps

AVAILABLE, REASON = gpu_available()
needs_gpu = pytest.mark.skipif(not AVAILABLE, reason=REASON)


@needs_gpu
@pytest.mark.parametrize(("width", "height"), [(1, 1), (64, 48), (61, 45)])
def test_a_gpu_gives_the_bits_of_the_emulator(width: int, height: int) -> None:
    image = np.random.default_rng(3).random((height, width), dtype=np.float32)
    out = [np.full((height, width), np.nan, np.float32) for _ in range(2)]
    scalars = {"w": width, "h": height}
    steps = blur_steps(width, height)
    GpuExecutor().run(blur(), steps, {"in": image, "out": out[0]}, scalars)
    Emulator().run(blur(), steps, {"in": image, "out": out[1]}, scalars)
    np.testing.assert_array_equal(out[0], out[1])


@needs_gpu
def test_a_session_on_a_gpu() -> None:
    x, y = np.arange(100, dtype=np.float32), np.ones(100, np.float32)
    with GpuExecutor().session(SAXPY, {"x": x, "y": y}) as session:
        for _ in range(3):
            session.run(saxpy_steps(100), {"a": 2.0, "n": 100})
        session.wait()
        session.fetch()
    np.testing.assert_array_equal(y, 6 * x + 1)


class DriverError(Exception):
    """Not a RuntimeError, like pycuda's error."""


class Memory:
    """Is an address where a number is wanted, and freed once."""

    def __init__(self, driver: Any, address: int) -> None:
        self._driver, self._address = driver, address

    def __int__(self) -> int:
        return self._address

    def free(self) -> None:
        self._driver.calls.append("free")
        self._address = 0


class FakeDriver(ModuleType):
    """The part of pycuda.driver that the library uses. Its kernels do nothing."""

    Error = DriverError
    function_attribute = SimpleNamespace(MAX_DYNAMIC_SHARED_SIZE_BYTES="dynamic shared")

    def __init__(self, devices: int) -> None:
        super().__init__("pycuda.driver")
        self.calls: list[Any] = []
        self.memory: dict[int, bytearray] = {}
        self.contexts = 0
        context = SimpleNamespace(push=lambda: self._enter(1), pop=lambda: self._enter(-1))
        self.Device = lambda number: SimpleNamespace(
            name=lambda: "Fake",
            compute_capability=lambda: (8, 6),
            retain_primary_context=lambda: context,
        )
        self.Device.count = lambda: devices
        self.Event = lambda: SimpleNamespace(
            record=lambda: self.calls.append("record"),
            synchronize=lambda: self.calls.append("end"),
            time_since=lambda begin: 12.5,
        )
        self.Context = SimpleNamespace(synchronize=lambda: None)

    def _enter(self, change: int) -> None:
        self.contexts += change

    def init(self) -> None:
        pass

    def mem_alloc(self, nbytes: int) -> Any:
        assert self.contexts == 1
        assert nbytes > 0
        memory = Memory(self, 4096 * (len(self.memory) + 1))
        self.memory[int(memory)] = bytearray(nbytes)
        return memory

    def memcpy_htod_async(self, memory: int, host: Any, stream: Any) -> None:
        self.memory[memory][:] = host.tobytes()

    def memcpy_dtoh_async(self, host: Any, memory: int, stream: Any) -> None:
        host.reshape(-1).view(np.uint8)[:] = np.frombuffer(self.memory[memory], np.uint8)

    def module_from_buffer(self, cubin: bytes) -> Any:
        self.calls.append(cubin)
        return SimpleNamespace(get_function=self._function)

    def _function(self, name: str) -> Any:
        driver = self

        class Function:
            def set_attribute(self, attribute: str, value: int) -> None:
                driver.calls.append((attribute, value))

            def __call__(self, *arguments: Any, **sizes: Any) -> None:
                if sizes["block"] == (1024, 1, 1):
                    raise DriverError("too many resources requested for launch")
                driver.calls.append((name, arguments, sizes))

        return Function()


@pytest.fixture
def driver(monkeypatch: pytest.MonkeyPatch) -> FakeDriver:
    fake = FakeDriver(devices=1)
    monkeypatch.setitem(sys.modules, "cuda.bindings.driver", None)
    monkeypatch.setitem(sys.modules, "pycuda", ModuleType("pycuda"))
    monkeypatch.setitem(sys.modules, "pycuda.driver", fake)
    monkeypatch.setattr(launch, "nvrtc_version", lambda: "13.0")
    monkeypatch.setattr(
        launch,
        "compile_cuda",
        lambda source, arch, float_mode: SimpleNamespace(
            cubin=f"{arch} {float_mode}: {source}".encode()
        ),
    )
    return fake


PARAMS = (
    BufferParam("x", "short", written=True),
    ScalarParam("flag", "bool"),
    ScalarParam("n", "long long"),
)


def test_the_arguments_of_pycuda(driver: FakeDriver) -> None:
    kernel = CudaKernel("k", PARAMS, (32, 2, 1), dynamic_shared_bytes=60000)
    module = CudaModule("text", (kernel,), float_mode=FloatMode.CONTRACT)
    steps = (LaunchStep("k", (5, 6, 7), ("x", True, -1)),) * 2
    x = np.arange(6, dtype=np.int16)[::2]
    executor = GpuExecutor()
    executor.run(module, steps, {"x": x}, {})
    executor.run(module, (), {"x": x}, {})
    executor.release()
    assert executor.arch == "sm_86"
    assert driver.contexts == 0
    assert driver.calls[0] == b"sm_86 contract: text"  # compiled and loaded once
    assert driver.calls[1] == ("dynamic shared", 60000)  # and found once
    for call in driver.calls[2:4]:
        name, (memory, flag, n), sizes = call
        assert name == "k"
        assert sizes == {"grid": (5, 6, 7), "block": (32, 2, 1), "shared": 60000, "stream": None}
        assert (type(memory), bytes(driver.memory[memory])) == (np.uintp, b"\0\0\2\0\4\0")
        assert (type(flag), flag, type(n), n) == (np.uint8, 1, np.int64, -1)
    assert driver.calls[4:] == ["free"]
    assert x.tolist() == [0, 2, 4]


def test_events_stand_around_what_is_timed(driver: FakeDriver) -> None:
    module = CudaModule("text", (CudaKernel("k", PARAMS, (32, 1, 1)),))
    steps = (LaunchStep("k", (1, 1, 1), ("x", True, 3)),)
    with GpuExecutor().session(module, {"x": np.zeros(4, np.int16)}) as session:
        planned = plan(module, steps, {})
        session.follow(planned)
        before = len(driver.calls)
        assert session.timed(planned) == 0.0125
        assert session.timed(planned) == 0.0125
    what = [call if isinstance(call, str) else call[0] for call in driver.calls[before:]]
    assert what == ["record", "k", "record", "end"] * 2  # nothing is copied


def test_what_is_timed_allocates_nothing(driver: FakeDriver) -> None:
    """Two buffers of one size share memory, as the first is used no more."""
    kernel = CudaKernel("k", (BufferParam("x", "short", written=True),), (32, 1, 1))
    module = CudaModule("text", (kernel,))
    steps = [
        step
        for name in ("a", "b")
        for step in (
            AllocStep(name, "short", 1 << 20),
            LaunchStep("k", (1, 1, 1), (name,)),
            FreeStep(name),
        )
    ]
    executor = GpuExecutor()
    with executor.session(module, {}) as session:
        planned = plan(module, steps, {})
        allocated = driver.mem_alloc
        driver.mem_alloc = lambda nbytes: driver.calls.append("allocate") or allocated(nbytes)
        session.timed(planned)
        executor.release()
    what = [call if isinstance(call, str | bytes) else call[0] for call in driver.calls]
    text = b"sm_86 strict: text"
    assert what == [text, "allocate", "record", "k", "k", "record", "end", "free"]


def test_a_refused_launch_is_reported_in_words(driver: FakeDriver) -> None:
    module = CudaModule("text", (CudaKernel("k", (), (1024, 1, 1)),))
    with pytest.raises(
        CudaLaunchError, match=r"launching kernel k, grid \(1, 1, 1\), block \(1024, .*resources"
    ):
        GpuExecutor().run(module, (LaunchStep("k", (1, 1, 1), ()),), {}, {})
    assert driver.contexts == 0


def test_a_device_that_is_not_here(driver: FakeDriver) -> None:
    with pytest.raises(CudaUnavailable, match="there is no GPU 1; there are 1, counted from 0"):
        GpuExecutor(1)
    assert gpu_available() == (True, "Fake")


def test_a_driver_without_devices(driver: FakeDriver, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pycuda.driver", FakeDriver(devices=0))
    assert gpu_available() == (False, "the CUDA driver finds no device")

    def fail() -> None:
        raise DriverError("cuInit failed: no CUDA-capable device is detected")

    monkeypatch.setattr(driver, "init", fail)
    monkeypatch.setitem(sys.modules, "pycuda.driver", driver)
    assert gpu_available() == (
        False,
        "the CUDA driver finds no device it can use "
        "(cuInit failed: no CUDA-capable device is detected)",
    )


def test_missing_packages_are_reported_with_the_extra_that_holds_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "cuda.bindings.driver", None)
    monkeypatch.setitem(sys.modules, "pycuda.driver", None)
    available, reason = gpu_available()
    assert not available
    assert "pip install '.[cuda]'" in reason
    assert "cuda-bindings: " in reason
    assert "pycuda: " in reason
    with pytest.raises(CudaUnavailable, match="none can be imported"):
        GpuExecutor()
