"""What an NVIDIA GPU executes: PTX, assembled by ptxas and read back by nvdisasm.

This needs no GPU. Both programs come from their wheels or from a CUDA toolkit.
"""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

from attrs import frozen

from spaces.backend.cuda.errors import CudaCompileError, CudaUnavailable
from spaces.backend.cuda.nvrtc import KernelResources, read_resources
from spaces.model.extras import how_to_install

PROGRAMS = ("ptxas", "nvdisasm")
"""Programs of NVIDIA that this module runs."""

_SECTION = re.compile(r"^\s*\.section\s+\.text\.(?P<kernel>[\w$]+)", re.MULTILINE)
_INSTRUCTION = re.compile(
    r"^\s*/\*[0-9a-f]{4,}\*/\s+(?:@!?U?P\w+\s+)?(?P<name>[A-Z][\w.]*)[^;]*;", re.MULTILINE
)
_PADDING = "NOP"
"""Fills the code of a kernel up to a full line of the instruction cache."""


@frozen
class KernelCode:
    """The machine code of one kernel.

    Attributes:
        instructions: how many there are of each name, such as ``FFMA``; without padding.
        resources: its registers, spills and shared memory.
    """

    instructions: Counter[str]
    resources: KernelResources

    @property
    def size(self) -> int:
        """The number of its instructions."""
        return self.instructions.total()


@frozen
class MachineCode:
    """Assembled PTX: the bytes of the CUBIN, and each kernel by its name."""

    cubin_bytes: int
    kernels: Mapping[str, KernelCode]


def assembled(ptx: str, arch: str) -> MachineCode:
    """The machine code of a PTX text for one architecture, such as ``sm_90``.

    Raises:
        CudaCompileError: ptxas refuses the text.
        CudaUnavailable: ptxas or nvdisasm is missing.
    """
    with tempfile.TemporaryDirectory() as folder:
        text, cubin = Path(folder) / "kernels.ptx", Path(folder) / "kernels.cubin"
        text.write_text(ptx, "utf-8")
        log = _run("ptxas", f"--gpu-name={arch}", "--verbose", f"--output-file={cubin}", str(text))
        code = dict(_instructions(_run("nvdisasm", "--print-code", str(cubin))))
        resources = read_resources(log)
        kernels = {name: KernelCode(code[name], resources[name]) for name in resources}
        return MachineCode(cubin.stat().st_size, kernels)


def _instructions(listing: str) -> Iterator[tuple[str, Counter[str]]]:
    """How often each kernel of a listing has each instruction."""
    _, *parts = _SECTION.split(listing)
    for name, text in zip(parts[::2], parts[1::2], strict=True):
        names = (found["name"].partition(".")[0] for found in _INSTRUCTION.finditer(text))
        yield name, Counter(one for one in names if one != _PADDING)


def _run(program: str, *arguments: str) -> str:
    """What a program prints."""
    done = subprocess.run(
        [path_of(program), *arguments], capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise CudaCompileError(f"{program} fails:\n{done.stderr}", done.stderr)
    return done.stdout + done.stderr


@cache
def path_of(program: str) -> str:
    """The file of a program: that of a wheel before that of a toolkit.

    Raises:
        CudaUnavailable: neither has the program.
    """
    wheels = importlib.util.find_spec("nvidia")
    for folder in (wheels and wheels.submodule_search_locations) or ():
        for path in sorted(Path(folder).glob(f"*/bin/{program}"), reverse=True):
            return str(path)
    found = shutil.which(program)
    if found is None:
        raise CudaUnavailable(
            f"{program}, a program of NVIDIA's toolkit, is missing; install the extra that holds "
            f"it ({how_to_install('cuda-static')}) or a CUDA toolkit"
        )
    return found
