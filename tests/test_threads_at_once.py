"""Threads that compile for CPU and GPU, verify, prove and search find what one thread finds."""

import json
import subprocess
import sys
from threading import Barrier

from tests import at_once

THREADS = 3


def found_at_once() -> list[list[list[str]]]:
    """What each thread finds beside the others."""
    command = [sys.executable, "-m", "tests.at_once", *(str(THREADS),) * 2]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr[-2000:] or f"It ended with {done.returncode}."
    found: list[list[list[str]]] = json.loads(done.stdout)
    return found


def test_threads_find_what_one_thread_finds():
    alone = [at_once.found(thread, Barrier(1)) for thread in range(THREADS)]
    assert found_at_once() == alone
