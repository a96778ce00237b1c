"""Loads the kernels of a bundle: as machine code where it fits the card, else from their text."""

from __future__ import annotations

import importlib
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from bench.gpu.runner.card import Card
from spaces.backend.cuda.drivers.driver import DriverError


class NotLoaded(Exception):
    """A card cannot load a module in any form; ``str`` says why, form by form."""


def load(card: Card, folder: Path, record: Mapping[str, Any]) -> tuple[Any, str]:
    """A module, and the form in which it was loaded.

    Machine code serves one architecture. For others the text is compiled where the run is: PTX
    of a newer compiler than the driver's would be refused, so it comes last.
    """
    forms: list[tuple[str, Callable[[], bytes]]] = [
        (
            "text",
            lambda: _compiled(card.arch, record["options"], _unpacked(folder, record["text"])),
        ),
        ("ptx", lambda: _unpacked(folder, record["ptx"]) + b"\0"),
    ]
    if card.arch == record["arch"]:
        forms.insert(0, ("cubin", (folder / record["cubin"]).read_bytes))
    failures = []
    for form, content in forms:
        try:
            return card.load(content()), form
        except (DriverError, ImportError, RuntimeError, OSError) as error:
            failures.append(f"{form}: {error}")
    raise NotLoaded("; ".join(failures))


def _unpacked(folder: Path, name: str) -> bytes:
    return zlib.decompress((folder / name).read_bytes())


def _compiled(arch: str, options: list[str], text: bytes) -> bytes:
    """Machine code of a text, by the compiler of this machine."""
    nvrtc: Any = importlib.import_module("cuda.bindings.nvrtc")

    def ask(call: Callable[..., Any], *arguments: Any) -> Any:
        status, *found = call(*arguments)
        if status != nvrtc.nvrtcResult.NVRTC_SUCCESS:
            raise RuntimeError(f"NVRTC: {nvrtc.nvrtcGetErrorString(status)[1].decode()}")
        return found[0] if found else None

    program = ask(nvrtc.nvrtcCreateProgram, text, b"module.cu", 0, [], [])
    flags = [flag.encode() for flag in (f"--gpu-architecture={arch}", *options)]
    ask(nvrtc.nvrtcCompileProgram, program, len(flags), flags)
    code: bytes = b" " * ask(nvrtc.nvrtcGetCUBINSize, program)
    ask(nvrtc.nvrtcGetCUBIN, program, code)
    return code
