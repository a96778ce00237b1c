from pathlib import Path

import pytest

from spaces.backend.cuda import host_build
from spaces.backend.cuda.errors import CudaUnavailable
from spaces.backend.cuda.host_build import build, library_text
from tests.backend.cuda.texts import SAXPY


def test_a_missing_sanitizer_is_not_an_error_of_the_text(tmp_path: Path) -> None:
    with pytest.raises(CudaUnavailable, match=r"can't link with .*-lno_such_sanitizer"):
        build(library_text(SAXPY), tmp_path, ("-shared", "-fPIC", "-lno_such_sanitizer"))


def test_a_missing_compiler_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host_build.shutil, "which", lambda name: None)
    with pytest.raises(CudaUnavailable, match=r"there is no g\+\+"):
        build(library_text(SAXPY), tmp_path, ())


def test_the_built_source_contains_the_text_unchanged() -> None:
    assert f'#line 1 "module.cu"\n{SAXPY.source}\n' in library_text(SAXPY)
