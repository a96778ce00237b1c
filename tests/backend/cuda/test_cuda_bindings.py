"""The calls of ``cuda-bindings`` over a driver that runs kernels on the CPU and notes its calls."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from backend.cuda.launch import gpu_available
from tests.backend.cuda.stub.driver import with_driver

pytest.importorskip("cuda.bindings")
pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="the stub driver is a library of Linux"),
    pytest.mark.skipif(shutil.which("g++") is None, reason="the stub driver needs g++"),
]

Program = Callable[..., "Ran"]


class Ran:
    """What a program printed, and what it asked of the driver."""

    def __init__(self, printed: str, log: Path) -> None:
        self.printed = printed.splitlines()
        self.calls = [line.split() for line in log.read_text().splitlines()]

    def all(self, call: str) -> list[list[str]]:
        """The arguments of each call of a name."""
        return [arguments for name, *arguments in self.calls if name == call]


@pytest.fixture
def program(stub_driver: Path, tmp_path: Path) -> Program:
    def run(*arguments: str, **settings: str) -> Ran:
        log = tmp_path / "calls"
        log.touch()
        done = subprocess.run(
            [sys.executable, *arguments],
            env=with_driver(stub_driver, **{"STUB_LOG": str(log), **settings}),
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return Ran(done.stdout, log)

    return run


def assert_nothing_is_left(ran: Ran) -> None:
    """All memory is given back, and the caller's context is current again."""
    allocated = Counter(address for address, _ in ran.all("allocate"))
    assert allocated == Counter(address for (address,) in ran.all("free"))
    assert len(ran.all("push")) == len(ran.all("pop"))
    assert len(ran.all("event")) == len(ran.all("end"))
    assert not ran.all("STOPPED")


def test_apps_compute_what_the_emulator_computes(program: Program) -> None:
    """A kernel, two kernels of several blocks, and intermediate results on the device."""
    ran = program("-m", "tests.backend.cuda.stub", "blur", "unsharp", "hist")
    assert ran.printed == ["cuda-bindings sm_90", "blur True", "unsharp True", "hist True"]
    assert_nothing_is_left(ran)
    assert len(ran.all("load")) == 3
    assert len(ran.all("function")) == len(ran.all("launch"))  # each kernel runs once
    assert len(ran.all("upload")) == len(ran.all("download")) == 3  # an image up, an output down


SAXPY = """
import numpy as np
from backend.cuda.errors import CudaError
from backend.cuda.launch import GpuExecutor, gpu_available
from backend.cuda.plan import plan
from tests.backend.cuda.stub.modules import use_stub_modules
from tests.backend.cuda.texts import SAXPY, saxpy_steps

use_stub_modules()
print(gpu_available())
x, y = np.arange(100, dtype=np.float32), np.ones(100, np.float32)
gpu = None
try:
    gpu = GpuExecutor()
    with gpu.session(SAXPY, {"x": x, "y": y}) as session:
        planned = plan(SAXPY, saxpy_steps(100), {"a": 2.0, "n": 100})
        session.follow(planned)
        session.wait()
        print(0 < session.timed(planned) < 1)
        session.fetch()
    print(np.array_equal(y, 4 * x + 1))
except CudaError as error:
    print(type(error).__name__, error)
if gpu:
    gpu.release()
"""


def test_a_session_copies_once_and_is_timed_between_events(program: Program) -> None:
    ran = program("-c", SAXPY)
    assert ran.printed == ["(True, 'Stub')", "True", "True"]
    assert_nothing_is_left(ran)
    names = [call[0] for call in ran.calls if call[0] in ("upload", "launch", "record", "download")]
    assert names == ["upload", "upload", "launch", "record", "launch", "record", "download"]


def test_what_the_driver_refuses_is_told_with_what_was_asked(program: Program) -> None:
    ran = program("-c", SAXPY, STUB_FAILS="saxpy_kernel")
    assert ran.printed[1] == (
        "CudaLaunchError the GPU failed while launching kernel saxpy_kernel, grid (2, 1, 1), block "
        "(64, 1, 1): unspecified launch failure"
    )
    assert_nothing_is_left(ran)
    ran = program("-c", SAXPY, STUB_MEGABYTES="0")
    assert ran.printed[1] == (
        "CudaLaunchError the GPU failed while allocating 400 bytes: out of memory"
    )
    assert_nothing_is_left(ran)


def test_a_driver_without_a_device(program: Program) -> None:
    for devices, why in ("0", "the CUDA driver finds no device"), ("-1", "no CUDA-capable device"):
        ran = program("-c", SAXPY, STUB_DEVICES=devices)
        assert why in ran.printed[0]
        assert ran.printed[1].startswith("CudaUnavailable")


@pytest.mark.skipif(gpu_available()[0], reason="this machine has a driver")
def test_a_machine_without_a_driver(program: Program) -> None:
    ran = program("-c", SAXPY, LD_LIBRARY_PATH="")
    assert "there is no CUDA driver" in ran.printed[0]
    assert ran.printed[1].startswith("CudaUnavailable there is no CUDA driver")


WITHOUT_EXECUTOR = """
import numpy as np
from backend.access import AccessMode
from backend.compile_gpu import compile_gpu_unchecked
from spaces import *
from tests.backend.cuda.stub.modules import use_stub_modules

use_stub_modules()
x, image, f = Var("x"), ImageParam(Int32, 1, "image"), Func("f")
f[x] = image[x] * 3
algorithm = pipeline(f)
tiles = parse_schedule("f.gpu_tile(x, xi, 64);", algorithm)
for mode in (AccessMode.HARDENED, AccessMode.PLAIN, AccessMode.PLAIN):
    compiled = compile_gpu_unchecked(algorithm, tiles, access_mode=mode)
    given = {"image": np.arange(100, dtype=np.int32)}
    print(np.array_equal(compiled.run(given, sizes={"f": [100]})["f"], 3 * given["image"]))
"""


def test_the_gpu_runs_what_names_no_executor(program: Program) -> None:
    """But for hardened code, which only emulators run; equal texts are loaded once."""
    ran = program("-c", WITHOUT_EXECUTOR)
    assert ran.printed == ["True"] * 3
    assert len(ran.all("launch")) == 2
    assert len(ran.all("load")) == len(ran.all("retain")) == 1


def test_arrays_of_the_gpu(program: Program) -> None:
    """All tests of a file, in a process that has the stub driver."""
    ran = program(
        "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/backend/cuda/stub/arrays.py"
    )
    assert not ran.all("STOPPED")
    assert ran.all("launch")


FAULT = """
import numpy as np
from backend.compile_gpu import compile_gpu_unchecked
from backend.cuda.errors import CudaLaunchError
from backend.cuda.launch import GpuExecutor
from spaces import *
from tests.backend.cuda.stub.modules import use_stub_modules

use_stub_modules()
x, image, first, last = Var("x"), ImageParam(Int32, 1, "image"), Func("first"), Func("last")
first[x] = image[x] * 3
last[x] = first[x] + 1
algorithm = pipeline(last)
text = "first.compute_root().gpu_tile(x, xi, 64); last.gpu_tile(x, xi, 64);"
compiled = compile_gpu_unchecked(algorithm, parse_schedule(text, algorithm))
host = np.arange(100, dtype=np.int32)
gpu = GpuExecutor(synchronous=SYNCHRONOUS)
on_gpu = gpu.device_array(host)

def told(call):
    try:
        print(call())
    except CudaLaunchError as error:
        print(error)

def run(image):
    return compiled.run({"image": image}, sizes={"last": [100]}, executor=gpu)["last"]

if SYNCHRONOUS:
    told(lambda: run(on_gpu))
else:
    for _ in range(2):
        out = run(on_gpu)
    told(out.to_numpy)
    told(lambda: run(host))
"""


def test_a_fault_names_the_kernels_that_may_have_failed(program: Program) -> None:
    ran = program("-c", FAULT.replace("SYNCHRONOUS", "False"), STUB_FAULTS="first_kernel")
    copy, upload = (
        f"the GPU failed while copying 400 bytes {way} the GPU: an illegal memory access was "
        "encountered; since it last waited it launched kernels first_kernel (2 times), last_kernel "
        "(2 times); GpuExecutor(synchronous=True) tells which of them failed"
        for way in ("from", "to")
    )
    assert ran.printed == [copy, upload]


def test_a_synchronous_executor_names_the_kernel_that_failed(program: Program) -> None:
    ran = program("-c", FAULT.replace("SYNCHRONOUS", "True"), STUB_FAULTS="first_kernel")
    assert ran.printed == [
        "the GPU failed while launching kernel first_kernel, grid (2, 1, 1), block (64, 1, 1): "
        "an illegal memory access was encountered"
    ]
    ran = program("-c", FAULT.replace("SYNCHRONOUS", "True"), STUB_FAULTS="last_kernel")
    assert "kernel last_kernel, grid (2, 1, 1)" in ran.printed[0]
