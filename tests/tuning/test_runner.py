"""Which process tunes a study, and whether it is still there."""

from __future__ import annotations

import multiprocessing
import os
import time

from attrs import evolve

from spaces.tuning.runner import Runner


def test_this_process_runs() -> None:
    me = Runner.this_process()
    assert me.is_running
    assert Runner.from_text(me.text) == me
    assert str(me) == f"process {os.getpid()} on {me.host}"


def test_a_later_process_with_the_same_number_is_another_one() -> None:
    assert not evolve(Runner.this_process(), began="12").is_running


def test_ended_processes_do_not_run() -> None:
    """Neither one that is gone nor a zombie."""
    child = multiprocessing.get_context("fork").Process(target=time.sleep, args=(60,))
    child.start()
    pid = child.pid or 0
    runner = Runner(Runner.this_process().host, pid, _beginning(pid))
    assert runner.is_running
    os.kill(pid, 9)
    end = time.monotonic() + 10
    while runner.is_running and time.monotonic() < end:
        time.sleep(0.01)
    assert not runner.is_running  # nobody has waited for it yet
    child.join()
    assert not runner.is_running


def _beginning(process: int) -> str:
    with open(f"/proc/{process}/stat") as stat:
        return stat.read().rpartition(")")[2].split()[19]


def test_nobody_knows_about_other_machines() -> None:
    assert Runner("elsewhere", 1, "1").is_running
