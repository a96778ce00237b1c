"""Threads that compile for CPU and GPU, verify, prove and search find what one thread finds."""

import subprocess
import sys


def found(at_once: int, threads: int) -> str:
    command = [sys.executable, "-m", "tests.at_once", str(at_once), str(threads)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr[-2000:] or f"It ended with {done.returncode}."
    return done.stdout


def test_threads_find_what_one_thread_finds():
    assert found(at_once=3, threads=3) == found(at_once=1, threads=3)
