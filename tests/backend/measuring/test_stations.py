"""What workers on other machines tell about themselves."""

from __future__ import annotations

from attrs import evolve

from spaces import device
from spaces.backend.measuring.machine import this_machine
from spaces.backend.measuring.stations import describe_worker
from spaces.constraints.devices.device import CpuDevice, GpuDevice


def test_a_worker_describes_its_own_processor_and_the_gpu_that_is_asked_for() -> None:
    here, gpu = device("cpu"), device("sm_80")
    assert isinstance(here, CpuDevice)
    assert isinstance(gpu, GpuDevice)
    asked = evolve(here, cores=here.cores + 7)
    assert describe_worker(asked).machine == this_machine(here) != this_machine(asked)
    assert describe_worker(gpu).machine == this_machine(gpu) != this_machine(here)
