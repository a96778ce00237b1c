"""A copy of a commit in a temporary folder, in which bugs are planted and tests run."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from attrs import frozen

from tests.mutants.bug import Bug
from tests.mutants.watching import watched

ROOT = Path(__file__).resolve().parents[2]

_FAILED = re.compile(r"^(?:FAILED|ERROR) (\S+\.py(?:::.*?)?)(?: - .*)?$", re.MULTILINE)
_RUNNING = re.compile(r"^(tests/\S+\.py::.*?) *(?:$|PASSED|SKIPPED|XFAIL|Fatal)", re.MULTILINE)


@frozen
class Run:
    """One run of pytest.

    Attributes:
        end: all tests passed; or one failed; or the process died of a signal; or the time, or the
            memory, was up.
        test: the test that failed, or ran last.
        seconds: processor time.
        output: what it printed.
    """

    end: str
    test: str
    seconds: float
    output: str


@frozen
class Workshop:
    """A copy of ``commit`` of the repository, below ``root``."""

    root: Path
    commit: str

    @staticmethod
    def at(root: Path, commit: str) -> Workshop:
        """A commit, copied to ``root``, with its modules compiled.

        What is compiled counts only while its source has the same hash, so that a planted bug is
        never overlooked because a file was changed within a second.
        """
        archive = _git("archive", commit)
        subprocess.run(["tar", "-x", "-C", root], input=archive, check=True)
        subprocess.run(
            [
                sys.executable,
                "-m",
                "compileall",
                "-q",
                "--invalidation-mode",
                "checked-hash",
                *("spaces", "backend", "apps"),
            ],
            cwd=root,
            check=True,
        )
        return Workshop(root, commit)

    @property
    def environment(self) -> dict[str, str]:
        """Variables with which the copy comes before the installed package on Python's path, in
        processes that tests start, too.
        """
        return {**os.environ, "PYTHONPATH": str(self.root), "PYTHONDONTWRITEBYTECODE": "1"}

    def with_bug(self, bug: Bug, tests: Sequence[str], seconds: float) -> Run:
        """Run tests while a bug is in the code, in a process that imports it anew."""
        path = self.root / bug.definition.path
        kept = path.read_bytes()
        try:
            path.write_text(bug.text, "utf-8")
            return self.run(tests, seconds)
        finally:
            path.write_bytes(kept)

    def run(self, tests: Sequence[str], seconds: float) -> Run:
        """Run tests of the copy up to the first that fails, for at most ``seconds`` of
        processor time.
        """
        command = [
            sys.executable,
            *("-m", "pytest", "-x", "-v", "--tb=line", "-p", "no:cacheprovider"),
            *("-p", "tests.mutants.unshrunk", *tests),
        ]
        log = self.root / "pytest.log"
        with log.open("wb") as sink:
            process = subprocess.Popen(
                command,
                cwd=self.root,
                env=self.environment,
                stdout=sink,
                stderr=subprocess.STDOUT,
                process_group=0,
            )
            ended = watched(process.pid, seconds)
            process.returncode = -1 if ended.code is None else ended.code
        end = ended.stopped or ("failed" if ended.code else "passed")
        output = log.read_text("utf-8", "replace")
        return Run(end, _culprit(end, output), ended.seconds, output)


def last_commit() -> str:
    """The name of the last commit, in short."""
    return _git("rev-parse", "--short", "HEAD").decode().strip()


def present_state() -> str:
    """A commit of the tracked files as they are now: the last one where nothing has changed."""
    return _git("stash", "create").decode().strip() or last_commit()


def _git(*arguments: str) -> bytes:
    """What git says of the repository."""
    return subprocess.run(["git", *arguments], cwd=ROOT, stdout=subprocess.PIPE, check=True).stdout


def _culprit(end: str, output: str) -> str:
    """The test that failed, or the one that ran last."""
    if end == "passed":
        return ""
    failed = _FAILED.search(output)
    if failed is not None:
        return failed.group(1)
    running = _RUNNING.findall(output)
    return running[-1] if running else ""
