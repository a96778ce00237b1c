"""The installed library beside modules of its users that are called like its folders.

Many projects have a package ``apps`` or ``backend``; the library takes no name but ``spaces``.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

DATA = Path(__file__).with_name("halide_programs") / "data"

_BUILD = "import sys; from setuptools import build_meta; build_meta.build_wheel(sys.argv[1])"

_OWN = '"""A package of the user."""\nOWN = True\n'

_ONE_RUN = """
import apps, backend, spaces

x = spaces.Var("x")
f = spaces.Func("f")
f[x] = x * 2
pipeline = spaces.pipeline(f, estimates={"f": (3,)})
checked = spaces.verify(pipeline, spaces.schedule(pipeline).schedule, spaces.device("cpu"))
print(spaces.compile_cpu(checked).run({}, sizes={"f": (3,)})["f"].tolist())
print(apps.OWN, backend.OWN, len(spaces.APPS) > 20)
"""

_WORKERS = """
import apps, backend, spaces

if __name__ == "__main__":
    x = spaces.Var("x")
    f = spaces.Func("f")
    f[x] = x * 2
    pipeline = spaces.pipeline(f, estimates={"f": (64,)})
    with spaces.LocalMeasurer(workers=1) as measurer:
        [found] = measurer.measure(pipeline, [spaces.schedule(pipeline).schedule])
    print(found.outcome)
    print(apps.OWN, backend.OWN)
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, made from the files that the repository keeps."""
    folder = tmp_path_factory.mktemp("wheel")
    for name in ("spaces", "backend", "apps"):
        leave = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / name, folder / name, symlinks=True, ignore=leave)
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, folder / name)
    made = subprocess.run(
        [sys.executable, "-c", _BUILD, str(folder)], cwd=folder, capture_output=True, text=True
    )
    assert made.returncode == 0, made.stderr
    return next(folder.glob("*.whl"))


@pytest.fixture(scope="module")
def project(wheel: Path) -> Path:
    """A folder of a user, who has installed the wheel in ``site`` and has both packages."""
    folder = wheel.parent / "project"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder / "site")
    for name in ("apps", "backend"):
        (folder / name).mkdir()
        (folder / name / "__init__.py").write_text(_OWN)
    return folder


def _said(project: Path, *words: str, given: str = "") -> str:
    done = subprocess.run(
        [sys.executable, *words],
        cwd=project,
        input=given,
        env={**os.environ, "PYTHONPATH": str(project / "site")},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_wheel_has_one_package_and_all_its_files(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = {name for name in archive.namelist() if ".dist-info/" not in name}
    assert {name.partition("/")[0] for name in names} == {"spaces"}
    files = {
        f"{'' if room == 'spaces' else 'spaces/'}{path.relative_to(ROOT).as_posix()}"
        for room in ("spaces", "backend", "apps")
        for path in (ROOT / room).rglob("*")
        if path.is_file() and path.parent.name != "__pycache__"
    }
    assert {name for name in files - names if not name.endswith("/README.md")} == set()


@pytest.mark.parametrize("form", ["a script", "typed", "a module"])
def test_a_project_with_apps_and_backend_of_its_own(project: Path, form: str) -> None:
    (project / "mine.py").write_text(_ONE_RUN)
    words = {"a script": ["mine.py"], "typed": ["-"], "a module": ["-m", "mine"]}[form]
    said = _said(project, *words, given=_ONE_RUN if form == "typed" else "")
    assert said == "[0, 2, 4]\nTrue True True\n"


def test_the_program_in_such_a_project(project: Path) -> None:
    said = _said(project, "-m", "spaces", "verify", "toy_blur", "--schedule", "cpu")
    assert said.startswith("The schedule is legal for cpu.\n")


def test_a_file_of_halide_without_halide(project: Path) -> None:
    (project / "halide.py").write_text("raise ImportError\n")
    shutil.copy(DATA / "blur_of_halide_19.hlpipe", project / "theirs.hlpipe")
    given = "theirs.hlpipe:in=200x200,out=64x48,p=3"
    said = _said(project, "-m", "spaces", "verify", given, "--schedule", "own")
    assert said.startswith("The schedule is legal for cpu.\n")


def test_worker_processes_in_such_a_project(project: Path) -> None:
    (project / "measured.py").write_text(_WORKERS)
    assert _said(project, "measured.py") == "correct\nTrue True\n"
