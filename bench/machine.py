"""The machine of the measurements."""

from __future__ import annotations

import datetime
import importlib.metadata
import os
import platform
from pathlib import Path
from typing import Any

from spaces.constraints.devices.device import host_cpu

PACKAGES = ("numpy", "llvmlite", "z3-solver", "halide")


def machine() -> dict[str, Any]:
    """Processor, cores, load and versions, as JSON's types."""
    cpu = host_cpu()
    return {
        "processor": processor(),
        "llvm_cpu": cpu.model,
        "cores": cpu.cores,
        "vector_bits": cpu.vector_bits,
        "load_average": round(os.getloadavg()[0], 1),
        "python": platform.python_version(),
        "packages": {name: _version(name) for name in PACKAGES},
        "date": datetime.date.today().isoformat(),
    }


def processor() -> str:
    """The model of the processor."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or "unknown"
    named = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(named, platform.processor() or "unknown")


def _version(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "not installed"
