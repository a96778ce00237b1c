"""What other programs take of the machine."""

from __future__ import annotations

import os
import sys

import pytest

from spaces.backend.measuring.disturbance import ProcessorTimes


@pytest.mark.parametrize(
    ("busy", "own", "share"),
    [
        (0.0, 0.0, 0.0),  # an idle machine
        (10.0, 10.0, 0.0),  # one of two processors works, for us
        (15.0, 10.0, 0.25),
        (20.0, 0.0, 1.0),
        (9.0, 10.0, 0.0),  # ticks are coarse
    ],
)
def test_the_share_of_others(busy: float, own: float, share: float) -> None:
    """Ten seconds of two processors."""
    before = ProcessorTimes(100.0, 50.0, 20.0, 2)
    later = ProcessorTimes(110.0, 50.0 + busy, 20.0 + own, 2)
    assert before.share_of_others(later) == pytest.approx(share)


def test_no_time_has_no_share() -> None:
    now = ProcessorTimes(1.0, 1.0, 1.0, 2)
    assert now.share_of_others(now) == 0.0


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells")
def test_times_of_processes_are_read() -> None:
    gone = 2**22 + 1  # more than the largest number of a process
    before = ProcessorTimes.now([os.getpid(), gone])
    spent = os.times()
    end = spent.user + spent.system + 0.05
    while os.times().user + os.times().system < end:
        pass
    after = ProcessorTimes.now([os.getpid(), gone])
    assert before is not None
    assert after is not None
    assert 0.03 <= after.own - before.own <= 1.0
    assert after.busy - before.busy >= 0.03
    assert after.wall > before.wall
    assert after.cores == os.cpu_count()
