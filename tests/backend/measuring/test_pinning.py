"""Threads with a core each."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from spaces.backend.measuring.pinning import Pinning

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux pins threads")

PROGRAM = """
import json, os, sys, threading
from spaces.backend.measuring.pinning import Pinning

end = threading.Event()

def started(count):
    threads = [threading.Thread(target=end.wait) for _ in range(count)]
    for thread in threads:
        thread.start()
    return [thread.native_id for thread in threads]

old = started(int(sys.argv[1]))
pinning = Pinning()
new = [threading.get_native_id(), *started(int(sys.argv[2]))]
pinning.pin()
print(json.dumps([[sorted(os.sched_getaffinity(one)) for one in ids] for ids in (old, new)]))
end.set()
"""

CORES = sorted(os.sched_getaffinity(0)) if sys.platform == "linux" else []


def cores(before: int, after: int) -> tuple[list[list[int]], list[list[int]]]:
    """The cores of threads started before a Pinning was made; those of the caller and of threads
    started after it.
    """
    given = [sys.executable, "-c", PROGRAM, str(before), str(after)]
    done = subprocess.run(given, capture_output=True, text=True, check=True)
    old, new = json.loads(done.stdout)
    return old, new


def test_each_new_thread_has_a_core_of_its_own() -> None:
    old, new = cores(2, len(CORES) - 1)
    assert old == [CORES] * 2
    assert sorted(new) == [[core] for core in CORES]


def test_threads_move_freely_where_they_are_more_than_the_cores() -> None:
    assert cores(0, len(CORES)) == ([], [CORES] * (len(CORES) + 1))


def test_a_thread_moves_while_it_is_loosened_and_then_goes_back() -> None:
    """Also after an error."""
    before = os.sched_getaffinity(0)
    pinning = Pinning()
    inside: list[set[int]] = []

    def fail() -> None:
        with pinning.loosen():
            inside.append(os.sched_getaffinity(0))
            raise ValueError("a compiler fails")

    try:
        os.sched_setaffinity(0, {CORES[0]})
        with pytest.raises(ValueError, match="a compiler"):
            fail()
        assert os.sched_getaffinity(0) == {CORES[0]}
    finally:
        os.sched_setaffinity(0, before)
    assert inside == [set(CORES)]


def test_a_system_that_pins_no_threads_is_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object) -> None:
        raise PermissionError

    monkeypatch.setattr(os, "sched_setaffinity", refused)
    with Pinning().loosen():
        pass
