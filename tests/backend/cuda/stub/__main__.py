"""``python -m tests.backend.cuda.stub``: all tests over the stub driver, with all apps."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from tests.backend.cuda.stub.driver import build_driver, with_driver


def main(arguments: list[str]) -> int:
    """Runs pytest with a stub driver; the arguments go to pytest."""
    here = Path(__file__).parent
    with tempfile.TemporaryDirectory() as folder:
        build_driver(Path(folder))
        log = Path(folder) / "calls"
        log.touch()
        files = (str(here / f"{name}.py") for name in ("calls", "arrays", "apps"))
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
        environment = with_driver(Path(folder), STUB_LOG=str(log))
        return subprocess.run([*command, *files, *arguments], env=environment).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
