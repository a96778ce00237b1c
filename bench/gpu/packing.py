"""The runner as one file, with the few files of the library that it uses."""

from __future__ import annotations

import zipfile
from pathlib import Path

_ROOT = Path(__file__).parents[2]

FROM_LIBRARY = (
    "spaces/backend/cuda/dim3.py",
    "spaces/backend/cuda/errors.py",
    "spaces/backend/cuda/drivers/driver.py",
    "spaces/backend/cuda/drivers/cuda_bindings.py",
    "spaces/backend/measuring/agreement.py",
)
"""They import NumPy, ``cuda-bindings`` and one another."""

_START = "from bench.gpu.runner.main import main\n\nmain()\n"


def packed() -> dict[str, bytes]:
    """The files of the runner by their paths in it."""
    own = sorted((_ROOT / "bench/gpu/runner").glob("*.py"))
    files = (*(_ROOT / name for name in FROM_LIBRARY), *own)
    content = {file.relative_to(_ROOT).as_posix(): file.read_bytes() for file in files}
    folders = {parent for name in content for parent in Path(name).parents} - {Path()}
    # Packages without their own beginnings, which import what the bundle lacks.
    beginnings = {(folder / "__init__.py").as_posix(): b"" for folder in folders}
    return {"__main__.py": _START.encode(), **beginnings, **content}


def write_runner(file: Path) -> None:
    """Writes the runner; Python starts it like any program."""
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in packed().items():
            archive.writestr(name, content)
