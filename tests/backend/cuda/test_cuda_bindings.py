"""What calls the CUDA driver, over a driver that runs kernels on the CPU and notes its calls.

A process has one driver, so the files of tests in ``stub`` run in a process of their own.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from spaces.backend.cuda.launch import gpu_available
from tests.backend.cuda.stub.driver import with_driver

pytest.importorskip("cuda.bindings")
pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="the stub driver is a library of Linux"),
    pytest.mark.skipif(shutil.which("g++") is None, reason="the stub driver needs g++"),
]

FILES = "tests/backend/cuda/stub"
SOME_APPS = ("blur", "hist", "max_filter")
"""Apps with one kernel, with several, and with parts on the host.
``python -m tests.backend.cuda.stub`` runs all.
"""


def test_over_the_stub_driver(stub_driver: Path, tmp_path: Path) -> None:
    """All tests of these files, with some of the apps."""
    log = tmp_path / "calls"
    log.touch()
    apps = " or ".join(f"-{name}]" for name in SOME_APPS)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider",
         f"{FILES}/calls.py", f"{FILES}/arrays.py", f"{FILES}/apps.py", "-k",
         f"not test_calls_of_an_app or {apps}"],
        env=with_driver(stub_driver, STUB_LOG=str(log)),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    _, end, later = log.read_text().partition("end\n")
    assert end
    assert not later, "A process that ends leaves the driver to end by itself."


@pytest.mark.skipif(gpu_available()[0], reason="this machine has a driver")
def test_a_machine_without_a_driver() -> None:
    available, why = gpu_available()
    assert not available
    assert why == "there is no CUDA driver: its library can't be loaded"
