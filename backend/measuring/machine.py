"""The machine on which a process measures."""

from __future__ import annotations

import json
import platform
from importlib import metadata
from pathlib import Path

import llvmlite.binding
from attrs import asdict, frozen

from spaces.backend.cuda.launch import gpu_available
from spaces.constraints.devices.device import CpuDevice, GpuDevice
from spaces.machine_code import host_target
from spaces.model.digests import digest

DISTRIBUTION = "schedule-spaces"
"""The name of this library as a package."""


@frozen
class TuningMachine:
    """The machine on which times are measured. Times on different hardware are not compared.

    Attributes:
        processor: the processor as the system calls it.
        target: LLVM's name of the processor.
        flags: a digest of LLVM's feature string.
        cores: the number of cores that this process may use.
        gpu: the device and the name of the GPU, if it is measured; empty otherwise.
        llvm: the version of LLVM.
        library: the version of this library.
    """

    processor: str
    target: str
    flags: str
    cores: int
    gpu: str
    llvm: str
    library: str

    @property
    def hardware(self) -> tuple[str, str, str, int, str]:
        """What decides how fast code runs: all but the versions of LLVM and of this library."""
        return self.processor, self.target, self.flags, self.cores, self.gpu

    @property
    def fingerprint(self) -> str:
        """The digest of all attributes."""
        return digest(self.document)

    @property
    def document(self) -> str:
        """All attributes as JSON."""
        return json.dumps(asdict(self), sort_keys=True)


def this_machine(device: CpuDevice | GpuDevice) -> TuningMachine:
    """The machine of this process, for measurements on a device."""
    target = host_target()
    on_cpu = isinstance(device, CpuDevice)
    return TuningMachine(
        processor=processor(),
        target=target.cpu,
        flags=digest(target.features),
        cores=device.cores if isinstance(device, CpuDevice) else 0,
        gpu="" if on_cpu else f"{device.name}, {gpu_available()[1]}",
        llvm=".".join(map(str, llvmlite.binding.llvm_version_info)),
        library=metadata.version(DISTRIBUTION),
    )


def processor() -> str:
    """The model name of the processor, where the system tells it."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    named = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(named, platform.processor() or platform.machine())
