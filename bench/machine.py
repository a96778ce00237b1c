"""The machine of the measurements."""

from __future__ import annotations

import datetime
import importlib.metadata
import os
import platform
from collections.abc import Mapping
from typing import Any

from spaces.backend.measuring.machine import processor as model_name
from spaces.constraints.devices.device import host_cpu

PACKAGES = ("numpy", "llvmlite", "z3-solver", "halide", "nvidia-cuda-nvrtc", "nvidia-cuda-nvcc")


def machine() -> dict[str, Any]:
    """Processor, cores, load and versions, as JSON's types."""
    cpu = host_cpu()
    return {
        "processor": model_name(),
        "llvm_cpu": cpu.model,
        "cores": cpu.cores,
        "vector_bits": cpu.vector_bits,
        "load_average": round(os.getloadavg()[0], 1),
        "python": platform.python_version(),
        "packages": {name: _version(name) for name in PACKAGES},
        "date": datetime.date.today().isoformat(),
    }


def processor() -> str:
    """The model of the processor, and LLVM's name of it: a cloud may call all its models alike."""
    return processor_of(machine())


def processor_of(machine: Mapping[str, Any]) -> str:
    """The same of a machine as :func:`machine` gives it."""
    return f"{machine['processor']} ({machine['llvm_cpu']})"


def _version(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "not installed"
