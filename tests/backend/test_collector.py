"""The collector of cycles waits for compilations, and for nothing else."""

import gc
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
