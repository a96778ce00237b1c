"""Measuring alone: other processes wait, say for whom, and not for ever."""

from __future__ import annotations

import fcntl
import logging
import os
import stat
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import forkserver
from multiprocessing.connection import Connection
from pathlib import Path

import pytest

from spaces import LocalMeasurer, MeasuringError, MeasuringLimits, schedule
from spaces.backend.measuring import alone
from spaces.backend.measuring.alone import alone_on_machine, lock_path
from spaces.backend.measuring.process import Worker
from spaces.backend.measuring.task import BuildRequest
from spaces.backend.python_process import module_command, module_environment
from spaces.model.deadline import Deadline, OutOfTime
from tests.backend.measuring import saboteurs
from tests.enumerate.pipelines import copied
from tests.forked import SERVER

COPIED = copied(960)


@pytest.fixture(scope="module", autouse=True)
def _forks() -> None:
    """The server of forks keeps its socket outside of the folders of these tests."""
    forkserver.ensure_running()


@pytest.fixture(autouse=True)
def _own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a runtime folder of the user."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "none"))
    monkeypatch.setattr(tempfile, "tempdir", None)
    monkeypatch.setattr(alone, "lock_path", lock_path)


@pytest.mark.parametrize(
    ("mode", "is_taken"), [(0o700, True), (0o755, False), (0o770, False), (0o500, False)]
)
def test_the_lock_is_in_the_runtime_folder_of_the_user(
    mode: int, is_taken: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If nobody else can write there."""
    if os.getuid() == 0 and mode == 0o500:
        pytest.skip("root may write everywhere")
    folder = tmp_path / "run"
    folder.mkdir()
    folder.chmod(mode)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(folder))
    assert (lock_path().parent == folder) is is_taken
    with alone_on_machine(1.0):
        assert lock_path().exists()


def test_a_runtime_folder_of_another_user_is_not_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    tmp_path.chmod(0o700)
    me = os.getuid()
    monkeypatch.setattr(os, "getuid", lambda: me + 1)
    assert alone.runtime_folder() is None


def _hold(environment: dict[str, str], told: Connection) -> None:
    """The body of the other process: it has the lock until it is told to end."""
    os.environ.update(environment)
    tempfile.tempdir = None
    with alone_on_machine(60):
        told.send("has it")
        told.recv()


@contextmanager
def held_elsewhere() -> Iterator[tuple[int, Connection]]:
    """The number of another process that measures, and what ends it."""
    mine, theirs = SERVER.Pipe()
    other = SERVER.Process(target=_hold, args=(dict(os.environ), theirs), daemon=True)
    other.start()
    assert other.pid is not None
    assert mine.recv() == "has it"
    try:
        yield other.pid, mine
    finally:
        other.kill()
        other.join()


def test_one_process_has_the_lock() -> None:
    with alone_on_machine(1.0):
        found = lock_path().stat()
        assert stat.S_IMODE(found.st_mode) == 0o600
        with lock_path().open() as other, pytest.raises(BlockingIOError):
            fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
    with lock_path().open() as other:
        fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)


def test_the_other_process_is_named_and_the_wait_has_an_end(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with held_elsewhere() as (number, _):
        with (
            caplog.at_level(logging.WARNING, "spaces.measuring"),
            pytest.raises(MeasuringError, match=rf"^Process {number} still .* after 0\.3 s\."),
            alone_on_machine(0.3),
        ):
            pass
        (told,) = caplog.messages
        assert told.startswith(f"Process {number} measures on this machine; waiting for it up")
        limits = MeasuringLimits(waiting_seconds=0.2)
        plain = schedule(COPIED).schedule
        with (
            LocalMeasurer(limits=limits, make=saboteurs.saboteur) as measurer,
            pytest.raises(MeasuringError, match="still measures on this machine"),
        ):
            measurer.measure(COPIED, [plain])


def test_a_time_limit_ends_the_wait() -> None:
    with (
        held_elsewhere(),
        pytest.raises(OutOfTime),
        Deadline.after(0.3).kept(),
        alone_on_machine(36_000.0),
    ):
        pass


def test_who_waits_goes_on_when_the_other_is_done() -> None:
    with held_elsewhere() as (_, other):
        other.send("end")
        with alone_on_machine(60.0):
            assert lock_path().read_text() == str(os.getpid())


@pytest.mark.parametrize("kind", ["link", "dangling", "hard link", "fifo", "folder"])
def test_what_others_put_in_the_place_of_the_lock_is_left_alone(kind: str, tmp_path: Path) -> None:
    victim = tmp_path / "precious"
    victim.write_text("precious")
    match kind:
        case "link":
            lock_path().symlink_to(victim)
        case "dangling":
            lock_path().symlink_to(tmp_path / "made")
        case "hard link":
            os.link(victim, lock_path())
        case "fifo":
            os.mkfifo(lock_path())
        case _:
            lock_path().mkdir()
    with pytest.raises(MeasuringError, match="cannot be the lock"), alone_on_machine(1.0):
        pass
    assert victim.read_text() == "precious"
    assert not (tmp_path / "made").exists()


def test_a_file_of_another_user_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    lock_path().touch(0o600)
    path, me = lock_path(), os.getuid()
    monkeypatch.setattr(alone, "lock_path", lambda: path)
    monkeypatch.setattr(os, "getuid", lambda: me + 1)
    with pytest.raises(MeasuringError, match="not a plain file of this user"), alone_on_machine(1):
        pass


@pytest.mark.usefixtures("started_workers")
def test_modules_in_the_current_folder_are_not_executed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("random", "numpy", "tempfile", "backend"):
        (tmp_path / f"{name}.py").write_text("open('executed', 'w').close()\n")
    monkeypatch.chdir(tmp_path)
    measurer = LocalMeasurer(make=saboteurs.saboteur)
    task = measurer._of(COPIED)[0].task
    measurer.close()
    with Worker.start(task) as worker:
        answer = worker.ask(BuildRequest(0, schedule(COPIED).schedule), 60)()
    assert not answer.reason
    subprocess.run(
        module_command("spaces.backend.halide.worker"),
        env=module_environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
    )
    assert not (tmp_path / "executed").exists()


def test_every_python_process_is_started_by_one_command() -> None:
    root = Path(alone.__file__).parents[2]
    found = [
        path.relative_to(root)
        for folder in ("spaces", "backend", "apps")
        for path in (root / folder).rglob("*.py")
        if "sys.executable" in path.read_text(encoding="utf-8")
    ]
    assert found == [Path("backend/python_process.py")]
