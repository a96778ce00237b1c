"""Compiled kernels on disk, since compiling them takes seconds and loading them takes none.

Each file holds one CUBIN behind the hash of its bytes, and is named by the hash of all that the
CUBIN depends on. A file appears whole or not at all, so several processes may use one folder.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import tempfile
from collections.abc import Callable
from pathlib import Path

from attrs import field, frozen
from attrs.validators import ge

_FORMAT = 1
"""Changes with the content of files."""

_DIGEST_BYTES = hashlib.sha256().digest_size


@frozen
class KernelCache:
    """A folder of compiled kernels.

    Attributes:
        folder: where the files are; it is made when it is needed.
        most_bytes: the bytes of all files; those not used for the longest time go first.
    """

    folder: Path
    most_bytes: int = field(default=256 << 20, validator=ge(0))

    def cubin(self, *depends_on: str | tuple[str, ...], compile: Callable[[], bytes]) -> bytes:
        """A CUBIN from its file, else from ``compile``, which is then kept. Where the folder cannot
        be written, nothing is kept.

        Args:
            depends_on: all that the CUBIN depends on.
            compile: makes it.
        """
        text = json.dumps((_FORMAT, *depends_on))
        path = self.folder / f"{hashlib.sha256(text.encode()).hexdigest()}.cubin"
        found = _read(path)
        if found is not None:
            return found
        made = compile()
        with contextlib.suppress(OSError):
            self._write(path, made)
        return made

    def _write(self, path: Path, cubin: bytes) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        number, name = tempfile.mkstemp(dir=self.folder)
        with os.fdopen(number, "wb") as file:
            file.write(hashlib.sha256(cubin).digest() + cubin)
        Path(name).replace(path)
        self._shrink()

    def _shrink(self) -> None:
        """Removes files until the others fit."""
        files = []
        for path in self.folder.iterdir():
            with contextlib.suppress(OSError):  # another process has removed it
                state = path.stat()
                files.append((state.st_mtime_ns, state.st_size, path))
        total = sum(size for _, size, _ in files)
        for _, size, path in sorted(files):
            if total <= self.most_bytes:
                return
            path.unlink(missing_ok=True)
            total -= size


def user_cache() -> KernelCache:
    """The kernels of this user: ``$XDG_CACHE_HOME/spaces/kernels``, or
    ``~/.cache/spaces/kernels``.
    """
    folder = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return KernelCache(Path(folder) / "spaces" / "kernels")


def _read(path: Path) -> bytes | None:
    """What a file holds; None if there is no such file, or its bytes are not those once written."""
    try:
        content = path.read_bytes()
        os.utime(path)  # the last use
    except OSError:
        return None
    digest, cubin = content[:_DIGEST_BYTES], content[_DIGEST_BYTES:]
    return cubin if hashlib.sha256(cubin).digest() == digest else None
