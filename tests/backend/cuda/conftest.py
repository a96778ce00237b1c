"""How tests of GPU code build their texts for the CPU."""

import shutil
import subprocess
from collections.abc import Callable, Iterator
from functools import cache
from importlib.resources import files
from pathlib import Path
from unittest import mock

import pytest

from spaces.backend.cuda import emulator, sanitizers
from spaces.backend.cuda.host_build import _FLAGS, build

Flags = tuple[str, ...]


@pytest.fixture(scope="session")
def precompiled(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Flags], Path]:
    """Makes what g++ reads in place of ``shim.h``, which is half of the time of a build."""

    @cache
    def made(flags: Flags) -> Path:
        folder = tmp_path_factory.mktemp("shim")
        for name in ("shim.h", "shim_math.h"):
            text = (files("spaces.backend.cuda") / name).read_text(encoding="utf-8")
            (folder / name).write_text(text, encoding="utf-8")
        command = ["g++", *_FLAGS, *flags, "-x", "c++-header", "shim.h"]
        subprocess.run(command, cwd=folder, check=True)
        return folder / "shim.h.gch"

    return made


@pytest.fixture(autouse=True)
def _quickly(precompiled: Callable[[Flags], Path]) -> Iterator[None]:
    """Without g++'s optimiser, in half of the time. Sanitizers look for undefined behaviour, and
    runs of whole apps show what the optimiser makes of a text.
    """

    def build_quickly(text: str, folder: Path, flags: Flags) -> Path:
        if shutil.which("g++"):  # else ``build`` says so
            (folder / "shim.h.gch").symlink_to(precompiled(flags))
        return build(text, folder, flags)

    with (
        mock.patch.object(emulator, "_FLAGS", ("-O0", "-fPIC", "-shared")),
        mock.patch.object(emulator, "build", build_quickly),
        mock.patch.object(sanitizers, "build", build_quickly),
    ):
        yield
