"""The collector of cycles waits for compilations, and for nothing else."""

import dis
import gc
import sys
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest

from backend.collector import collector_waits


def test_it_waits_for_the_last_and_runs_again():
    assert gc.isenabled()
    with collector_waits():
        with collector_waits():
            assert not gc.isenabled()
        assert not gc.isenabled()
    assert gc.isenabled()


def test_it_runs_again_after_an_error():
    with pytest.raises(ZeroDivisionError), collector_waits():
        raise ZeroDivisionError
    assert gc.isenabled()


def test_who_turned_it_off_finds_it_off():
    gc.disable()
    try:
        with collector_waits():
            assert not gc.isenabled()
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_threads_that_compile_at_once():
    together = Barrier(4)

    def compile_for_a_while(number):
        with collector_waits():
            together.wait(timeout=20)
            return gc.isenabled()

    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(compile_for_a_while, range(4))) == [False] * 4
    assert gc.isenabled()


def interrupted_at(step):
    """Compile, interrupted at the given one of the places where Python looks for signals while the
    wait begins or ends: after calls, and where functions begin; whether there was such a place.
    """
    left, previous = step, {}

    def trace(frame, event, _):
        nonlocal left
        if not frame.f_code.co_filename.endswith("collector.py"):
            return None
        frame.f_trace_opcodes = True
        if event == "opcode":
            before = previous.get(frame, "")
            previous[frame] = dis.opname[frame.f_code.co_code[frame.f_lasti]]
            left -= before == "RESUME" or before.startswith("CALL")
            if left == 0:
                sys.settrace(None)
                raise KeyboardInterrupt
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        with collector_waits():
            assert not gc.isenabled()
    except KeyboardInterrupt:
        return True
    finally:
        sys.settrace(before)
    return False


def test_it_runs_again_wherever_it_was_interrupted():
    steps = 0
    while interrupted_at(steps + 1):
        steps += 1
        assert gc.isenabled(), steps
    assert steps > 8
    with collector_waits():
        assert not gc.isenabled()
    assert gc.isenabled()
