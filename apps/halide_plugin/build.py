"""Builds the autoscheduler as a shared library for a Halide that is installed."""

from __future__ import annotations

import os
import shutil
import subprocess
from importlib.util import find_spec
from pathlib import Path

from spaces.apps.errors import CommandError, WrongUsage
from spaces.backend.python_process import interpreter
from spaces.model.extras import how_to_install

SOURCE = Path(__file__).with_name("spaces_autoscheduler.cpp")

LIBRARY = "libspaces.so"

_COMPILERS = ("c++", "g++", "clang++")


def build_plugin(folder: Path, halide: Path | None = None, compiler: str = "") -> Path:
    """Builds the shared library.

    Args:
        folder: where it is written; made if it is not there.
        halide: the folder of Halide, with ``include/Halide.h``; by default that of Halide's Python
            package.
        compiler: the C++ compiler; by default ``$CXX`` or the first that is found.

    Returns:
        The library.

    Raises:
        WrongUsage: there is no Halide or no compiler.
        CommandError: the compiler fails.
    """
    home = halide or _package()
    if not (home / "include" / "Halide.h").is_file():
        raise WrongUsage(f"{home} has no include/Halide.h; name the folder of Halide by --halide.")
    folder.mkdir(parents=True, exist_ok=True)
    made = folder / LIBRARY
    python = f'-DSPACES_PYTHON="{interpreter()}"'
    command = [
        compiler or _compiler(), "-std=c++17", "-O1", "-fno-rtti", "-fPIC", "-shared",
        python, f"-I{home / 'include'}", str(SOURCE), "-o", str(made),
    ]  # fmt: skip
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError as error:
        raise WrongUsage(f"{command[0]} does not run: {error.strerror}.") from None
    if done.returncode:
        raise CommandError(f"{command[0]} fails to build {SOURCE.name}:\n{done.stderr.strip()}")
    return made


def _package() -> Path:
    """The folder of Halide's Python package."""
    found = find_spec("halide")
    if found is None or found.origin is None:
        raise WrongUsage(
            f"Halide is not found: {how_to_install('halide')}; or name its folder by --halide."
        )
    return Path(found.origin).parent


def _compiler() -> str:
    named = os.environ.get("CXX") or next(filter(shutil.which, _COMPILERS), "")
    if not named:
        raise WrongUsage("There is no C++ compiler; name one by --compiler.")
    return named
