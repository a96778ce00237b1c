"""Which process tunes a study, and whether it is still there."""

from __future__ import annotations

import multiprocessing
import os
import time

from attrs import evolve

from spaces.tuning.runner import LEASE, Heartbeat, Runner


def test_this_process_runs() -> None:
    me = Runner.this_process()
    assert me.is_running(None)
    assert Runner.from_text(me.text) == me
    assert str(me) == f"process {os.getpid()} on {me.host}"


def test_a_later_process_with_the_same_number_is_another_one() -> None:
    assert not evolve(Runner.this_process(), began="12").is_running(None)


def test_ended_processes_do_not_run() -> None:
    """Neither one that is gone nor a zombie."""
    child = multiprocessing.get_context("fork").Process(target=time.sleep, args=(60,))
    child.start()
    pid = child.pid or 0
    runner = Runner(Runner.this_process().host, pid, _beginning(pid))
    assert runner.is_running(None)
    os.kill(pid, 9)
    end = time.monotonic() + 10
    while runner.is_running(None) and time.monotonic() < end:
        time.sleep(0.01)
    assert not runner.is_running(None)  # nobody has waited for it yet
    child.join()
    assert not runner.is_running(None)


def _beginning(process: int) -> str:
    with open(f"/proc/{process}/stat") as stat:
        return stat.read().rpartition(")")[2].split()[19]


def test_processes_that_cannot_be_seen_run_as_long_as_their_lease() -> None:
    """A container with a new name each time, and with process numbers of its own."""
    now = time.time()
    for other in Runner("elsewhere", 1, "1"), Runner("elsewhere", os.getpid(), "1", "a place"):
        assert other.is_running(now)
        assert other.is_running(now - LEASE / 2)
        assert other.is_running(now + LEASE / 2)  # the clocks differ
        assert not other.is_running(now - 2 * LEASE)
        assert not other.is_running(now + 2 * LEASE)
        assert not other.is_running(None)


def test_a_new_host_name_hides_no_process() -> None:
    renamed = evolve(Runner.this_process(), host="renamed")
    assert renamed.is_running(None)
    assert not evolve(renamed, began="12").is_running(time.time())


def test_texts_of_runners_are_read() -> None:
    assert Runner.from_text('["host", 12, "34"]') == Runner("host", 12, "34")
    for text in ("", "{", "[]", "null", '["host", "12", "34"]', '["host", 12, "34", 5]'):
        assert Runner.from_text(text) is None


def test_a_heart_beats_until_it_is_stopped() -> None:
    beats: list[float] = []

    def renew() -> None:
        beats.append(time.monotonic())
        if len(beats) == 2:
            raise OSError("once")

    heart = Heartbeat(renew, seconds=0.01)
    end = time.monotonic() + 10
    while len(beats) < 4 and time.monotonic() < end:
        time.sleep(0.01)
    heart.stop()
    count = len(beats)
    assert count >= 4
    time.sleep(0.05)
    assert len(beats) == count
