"""Settings shared by all tests."""

import gc
import subprocess
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest

from spaces.backend.cuda import emulator, sanitizers
from spaces.backend.measuring import alone, process
from spaces.enumerate.space.patterns.by_name import ROOT_PATTERNS
from spaces.model import deadline
from tests.backend.cuda.stub.driver import build_driver
from tests.clocks import Clock
from tests.differential.quick_code import quick_code
from tests.draw_counts import is_thorough, register_profiles
from tests.forked import ForkedWorker
from tests.precompiled import build_quickly

register_profiles()


@pytest.fixture(scope="session", autouse=True)
def _nothing_kept(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """What was measured or compiled on this machine does not change what tests see."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_DATA_HOME", str(tmp_path_factory.mktemp("data")))
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(scope="session", autouse=True)
def _alone(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """No test waits for another process of this machine that measures: each process of tests has a
    lock of its own. No test asserts how long a kernel takes.
    """
    lock = tmp_path_factory.mktemp("lock") / "spaces-measuring"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(alone, "lock_path", lambda: lock)
        yield


@pytest.fixture(scope="session", autouse=True)
def _forked_workers() -> Iterator[None]:
    """Processes that measure are forked, unless a test asks for `started_workers`."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(process, "Popen", ForkedWorker)
        yield


@pytest.fixture(scope="session", autouse=True)
def _precompiled() -> Iterator[None]:
    """Emulators build their texts quickly."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(emulator, "build", build_quickly)
        patch.setattr(sanitizers, "build", build_quickly)
        yield


@pytest.fixture
def started_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Processes that measure are started as for a user."""
    monkeypatch.setattr(process, "Popen", subprocess.Popen)


@pytest.fixture
def known_patterns() -> Iterator[None]:
    """Leaves the registered patterns as they were."""
    before = set(ROOT_PATTERNS)
    yield
    for name in set(ROOT_PATTERNS) - before:
        del ROOT_PATTERNS[name]


@pytest.fixture
def quickly() -> Iterator[None]:
    """Machine code without LLVM's optimiser, for tests that compare values."""
    with quick_code():
        yield


@pytest.fixture(scope="session")
def stub_driver(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a CUDA driver without a GPU."""
    folder = tmp_path_factory.mktemp("driver")
    build_driver(folder)
    return folder


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """The clock that time limits read."""
    made = Clock()
    monkeypatch.setattr(deadline, "monotonic", made)
    return made


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """What is imported and collected stays; looking through it, and through what a test is making,
    for garbage again and again took an eighth of the time of all tests.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.set_threshold(100_000, 20)
        gc.enable()


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish() -> None:
    """When a session ends, pytest looks ten times for garbage that would tell of a lost exception.
    It looks once; what then remains lasts as long as the process.
    """
    gc.collect()
    gc.freeze()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Tests that are marked `thorough` run with all random examples only."""
    if is_thorough():
        return
    left = [item for item in items if item.get_closest_marker("thorough")]
    if left:
        config.hook.pytest_deselected(items=left)
        items[:] = [item for item in items if not item.get_closest_marker("thorough")]
