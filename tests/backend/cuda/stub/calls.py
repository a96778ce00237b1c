"""What is asked of the driver, and what is said when it refuses."""

from __future__ import annotations

import gc
import sys
from collections import Counter
from collections.abc import Callable, Iterator

import numpy as np
import pytest

from spaces import Func, ImageParam, Int32, Var, parse_schedule, pipeline
from spaces.backend.access import AccessMode
from spaces.backend.arrays.dlpack import received
from spaces.backend.compile_gpu import compile_gpu_unchecked
from spaces.backend.cuda.errors import CudaLaunchError, CudaUnavailable
from spaces.backend.cuda.executors import present_executor
from spaces.backend.cuda.launch import GpuExecutor, gpu_available
from spaces.backend.cuda.plan import plan
from spaces.backend.gpu_pipeline import GpuPipeline
from tests.backend.cuda.stub import pycuda_over_driver
from tests.backend.cuda.stub.log import calls, now
from tests.backend.cuda.stub.modules import use_stub_modules
from tests.backend.cuda.texts import SAXPY, saxpy_steps

use_stub_modules()


@pytest.fixture(params=["cuda-bindings", "pycuda"], autouse=True)
def binding(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Each test is for both."""
    gc.collect()  # what other tests leave
    present_executor.cache_clear()
    if request.param == "pycuda":
        monkeypatch.setitem(sys.modules, "cuda.bindings.driver", None)
        monkeypatch.setitem(sys.modules, "pycuda.driver", pycuda_over_driver)
    yield request.param
    present_executor.cache_clear()


def saxpy() -> np.ndarray:
    """Two runs of 2 x + y."""
    x, y = np.arange(100, dtype=np.float32), np.ones(100, np.float32)
    gpu = GpuExecutor()
    try:
        with gpu.session(SAXPY, {"x": x, "y": y}) as session:
            planned = plan(SAXPY, saxpy_steps(100), {"a": 2.0, "n": 100})
            session.follow(planned)
            session.wait()
            assert 0 < session.timed(planned) < 1
            session.fetch()
    finally:
        gpu.release()
    return y


def assert_nothing_is_left(at: int) -> None:
    """All memory is given back, and the caller's context is current again."""
    allocated = Counter(address for address, _ in calls("allocate", at))
    assert allocated == Counter(address for (address,) in calls("free", at))
    assert len(calls("push", at)) == len(calls("pop", at))
    gc.collect()
    assert len(calls("event", at)) == len(calls("end", at))


def test_a_session_copies_once_and_is_timed_between_events() -> None:
    at = now()
    np.testing.assert_array_equal(saxpy(), 4 * np.arange(100, dtype=np.float32) + 1)
    assert_nothing_is_left(at)
    assert [len(calls(name, at)) for name in ("upload", "launch", "record", "download")] == [
        2, 2, 2, 1,
    ]  # fmt: skip


def test_a_copy_for_another_library_has_the_same_values() -> None:
    given = np.arange(60, dtype=np.int32)
    array = GpuExecutor().device_array(given)
    lent = received(array, stream=1, copy=True)
    found = np.zeros_like(given)
    array.gpu.read(lent.address, found, array.stream)
    np.testing.assert_array_equal(found, given)


def test_a_refused_launch_is_told_with_what_was_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    at = now()
    monkeypatch.setenv("STUB_FAILS", "saxpy_kernel")
    with pytest.raises(CudaLaunchError) as error:
        saxpy()
    assert str(error.value).startswith(
        "the GPU failed while launching kernel saxpy_kernel, grid (2, 1, 1), block (64, 1, 1): "
    )
    assert str(error.value).endswith("unspecified launch failure")
    assert_nothing_is_left(at)


def test_too_little_memory_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    at = now()
    monkeypatch.setenv("STUB_MEGABYTES", "0")
    with pytest.raises(CudaLaunchError) as error:
        saxpy()
    assert str(error.value).startswith("the GPU failed while allocating 400 bytes: ")
    assert str(error.value).endswith("out of memory")
    assert_nothing_is_left(at)


@pytest.mark.parametrize(
    ("devices", "why"),
    [("0", "the CUDA driver finds no device"), ("-1", "no CUDA-capable device")],
)
def test_a_driver_without_a_device(devices: str, why: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STUB_DEVICES", devices)
    available, reason = gpu_available()
    assert not available
    assert why in reason
    with pytest.raises(CudaUnavailable, match=why):
        GpuExecutor()


def two_kernels() -> GpuPipeline:
    x, image, first, last = Var("x"), ImageParam(Int32, 1, "image"), Func("first"), Func("last")
    first[x] = image[x] * 3
    last[x] = first[x] + 1
    text = "first.compute_root().gpu_tile(x, xi, 64); last.gpu_tile(x, xi, 64);"
    algorithm = pipeline(last)
    return compile_gpu_unchecked(algorithm, parse_schedule(text, algorithm))


HOST = np.arange(100, dtype=np.int32)


def test_the_gpu_runs_what_names_no_executor() -> None:
    """But for hardened code, which only emulators run; equal texts are loaded once."""
    hardened = compile_gpu_unchecked(
        two_kernels().pipeline, two_kernels().schedule, access_mode=AccessMode.HARDENED
    )
    both, at = [two_kernels(), two_kernels()], now()
    for compiled in (hardened, *both):
        found = compiled.run({"image": HOST}, sizes={"last": [100]})["last"]
        np.testing.assert_array_equal(found, 3 * HOST + 1)
    assert len(calls("launch", at)) == 4
    assert len(calls("load", at)) == 1


def refused(call: Callable[[], object]) -> str:
    with pytest.raises(CudaLaunchError) as error:
        call()
    return str(error.value)


def test_a_fault_names_the_kernels_that_may_have_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    gpu, compiled = GpuExecutor(), two_kernels()
    image = gpu.device_array(HOST)
    monkeypatch.setenv("STUB_FAULTS", "first_kernel")
    for _ in range(2):
        out = compiled.run({"image": image}, sizes={"last": [100]}, executor=gpu)["last"]
    for way, call in ("from", out.to_numpy), ("to", lambda: gpu.device_array(HOST)):
        told = refused(call)
        assert told.startswith(f"the GPU failed while copying 400 bytes {way} the GPU: ")
        assert told.endswith(
            "an illegal memory access was encountered; since it last waited it launched kernels "
            "first_kernel (2 times), last_kernel (2 times); GpuExecutor(synchronous=True) tells "
            "which of them failed"
        )


@pytest.mark.parametrize("kernel", ["first_kernel", "last_kernel"])
def test_a_synchronous_executor_names_the_kernel_that_failed(
    kernel: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    gpu, compiled = GpuExecutor(synchronous=True), two_kernels()
    given = {"image": gpu.device_array(HOST)}
    monkeypatch.setenv("STUB_FAULTS", kernel)
    told = refused(lambda: compiled.run(given, sizes={"last": [100]}, executor=gpu))
    assert told.startswith(
        f"the GPU failed while launching kernel {kernel}, grid (2, 1, 1), block (64, 1, 1): "
    )
    assert told.endswith("an illegal memory access was encountered")


def test_an_executor_ends_with_all_that_it_has() -> None:
    at = now()
    compiled, gpu = two_kernels(), GpuExecutor()
    out = compiled.run({"image": gpu.device_array(HOST)}, sizes={"last": [100]}, executor=gpu)
    del gpu
    gc.collect()
    np.testing.assert_array_equal(out["last"].to_numpy(), 3 * HOST + 1)
    assert not calls("unload", at)
    del out
    gc.collect()
    assert_nothing_is_left(at)
    assert len(calls("unload", at)) == 1


def test_streams_of_both_bindings(binding: str) -> None:
    """A second stream waits for the first; pycuda knows only its own streams."""
    gpu, compiled = GpuExecutor(), two_kernels()
    with gpu.memory.context():
        first, second = pycuda_over_driver.Stream(), pycuda_over_driver.Stream()
    at = now()
    middle = compiled.run(
        {"image": gpu.device_array(HOST)}, sizes={"last": [100]}, executor=gpu, stream=first
    )["last"]
    out = compiled.run({"image": middle}, sizes={"last": [100]}, executor=gpu, stream=second)
    assert [f"{first.handle:x}", f"{second.handle:x}"] in calls("order", at)
    assert [one[-1] for one in calls("launch", at)] == [
        f"{one.handle:x}" for one in (first, first, second, second)
    ]
    np.testing.assert_array_equal(out["last"].to_numpy(), 3 * (3 * HOST + 1) + 1)
    if binding == "pycuda":
        told = refused(
            lambda: compiled.run(
                {"image": HOST}, sizes={"last": [100]}, executor=gpu, stream=first.handle
            )
        )
        assert "pycuda works only on streams of its own; pass a pycuda.driver.Stream" in told
