"""Compiled kernels on disk."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spaces.backend.cuda import launch
from spaces.backend.cuda.kernel import CudaModule
from spaces.backend.cuda.kernel_cache import KernelCache, user_cache
from spaces.backend.cuda.launch import compiled_module
from spaces.backend.llvm.operators import FloatMode


def never() -> bytes:
    raise AssertionError("it is compiled again")


def giving(content: bytes) -> Callable[[], bytes]:
    return lambda: content


def test_a_text_is_compiled_once(tmp_path: Path) -> None:
    cache = KernelCache(tmp_path / "new" / "folder")
    assert cache.cubin("13.0", ("-a",), "text", compile=giving(b"cubin")) == b"cubin"
    assert cache.cubin("13.0", ("-a",), "text", compile=never) == b"cubin"
    assert KernelCache(cache.folder).cubin("13.0", ("-a",), "text", compile=never) == b"cubin"


def test_all_that_a_cubin_depends_on_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = []

    def compile_cuda(source: str, arch: str, *, float_mode: FloatMode) -> SimpleNamespace:
        made.append((source, arch, float_mode))
        return SimpleNamespace(cubin=f"{len(made)}".encode())

    monkeypatch.setattr(launch, "compile_cuda", compile_cuda)
    cache = KernelCache(tmp_path)
    for _ in range(2):
        for version in ("13.0", "13.1"):
            monkeypatch.setattr(launch, "nvrtc_version", lambda version=version: version)
            for source in ("a", "b"):
                for mode in FloatMode:
                    for arch in ("sm_80", "sm_90"):
                        compiled_module(CudaModule(source, (), float_mode=mode), arch, cache)
    assert len(made) == 2 * 2 * len(FloatMode) * 2
    compiled_module(CudaModule("a", ()), "sm_80", None)
    assert made[-1] == ("a", "sm_80", FloatMode.STRICT)


@given(st.binary(max_size=40), st.data())
def test_files_that_are_torn_or_changed_are_not_used(
    tmp_path_factory: pytest.TempPathFactory, content: bytes, data: st.DataObject
) -> None:
    cache = KernelCache(tmp_path_factory.mktemp("cache"))
    cache.cubin("key", compile=giving(content))
    (path,) = cache.folder.iterdir()
    whole = path.read_bytes()
    place = data.draw(st.integers(0, len(whole) - 1))
    changed = whole[:place] + bytes([whole[place] ^ data.draw(st.integers(1, 255))])
    path.write_bytes(data.draw(st.sampled_from([whole[:place], changed + whole[place + 1 :]])))
    assert cache.cubin("key", compile=giving(b"again")) == b"again"
    assert cache.cubin("key", compile=never) == b"again"


def test_those_used_last_stay(tmp_path: Path) -> None:
    cache = KernelCache(tmp_path, most_bytes=3 * (32 + 100))
    for number in range(3):
        cache.cubin(str(number), compile=giving(bytes(100)))
        (last,) = set(tmp_path.iterdir()) - {
            p for p in tmp_path.iterdir() if p.stat().st_mtime < 99
        }
        os.utime(last, (number, number))
    cache.cubin("0", compile=never)  # now the last used
    cache.cubin("3", compile=giving(bytes(100)))
    for kept in ("0", "2", "3"):
        cache.cubin(kept, compile=never)
    assert cache.cubin("1", compile=giving(b"again")) == b"again"
    assert sum(path.stat().st_size for path in tmp_path.iterdir()) <= cache.most_bytes


def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    cache = KernelCache(tmp_path / "file" / "folder")
    for _ in range(2):
        assert cache.cubin("key", compile=giving(b"cubin")) == b"cubin"


def test_where_kernels_are_kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert user_cache().folder == tmp_path / "spaces" / "kernels"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert user_cache().folder == tmp_path / ".cache" / "spaces" / "kernels"


WRITER = """
import sys
from pathlib import Path
from spaces.backend.cuda.kernel_cache import KernelCache
cache = KernelCache(Path(sys.argv[1]), most_bytes=40_000)
for number in range(300):
    name = str(number % 30)
    wanted = name.encode() * 1000
    assert cache.cubin(name, compile=lambda: wanted) == wanted
"""


def test_processes_share_a_folder(tmp_path: Path) -> None:
    """They write, read and remove the same files."""
    command = [sys.executable, "-c", WRITER, str(tmp_path)]
    for process in [subprocess.Popen(command) for _ in range(2)]:
        assert process.wait() == 0
    assert sum(path.stat().st_size for path in tmp_path.iterdir()) <= 40_000
