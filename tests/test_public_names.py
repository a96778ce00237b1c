"""The front door: ``spaces`` has every public name, and imports each when it is asked for."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import spaces
from spaces.public_names import read_names

ROOT = Path(__file__).parents[1]
STUB = (ROOT / "spaces/__init__.pyi").read_text("utf-8")
HEAVY = {"numpy", "attr", "z3", "llvmlite", "rich", "typer"} | {
    f"spaces.{part}" for part in ("backend", "apps", "model")
}


def imported(code):
    """The modules that Python has imported after ``code``."""
    tail = "\nimport sys; print(*sys.modules)"
    run = [sys.executable, "-c", code + tail]
    out = subprocess.run(run, capture_output=True, text=True, check=True, cwd=ROOT).stdout
    return set(out.splitlines()[-1].split())


@pytest.mark.parametrize("name", spaces.__all__)
def test_a_public_name_is_there(name):
    source = read_names(STUB)[name]
    if (source.module, name) == ("spaces.model.algorithm", "boundary"):
        assert spaces.boundary.__name__ == "spaces.model.algorithm.boundary"
    else:
        assert getattr(spaces, name) is vars(sys.modules[source.module])[source.attribute]
    assert name in dir(spaces)


def test_type_checkers_see_the_same_names():
    """A stub passes on what it imports under the very same name, and nothing else."""
    for node in ast.parse(STUB).body:
        if isinstance(node, ast.ImportFrom):
            assert [alias.asname for alias in node.names] == [alias.name for alias in node.names]


def test_other_names_are_missing_and_say_so():
    with pytest.raises(AttributeError, match="module 'spaces' has no attribute 'compile_fpga'"):
        _ = spaces.compile_fpga


def test_the_package_imports_nothing_before_it_is_asked():
    assert not HEAVY & imported("import spaces; spaces.__version__; dir(spaces)")


def test_a_definition_needs_neither_compilers_nor_other_apps():
    modules = imported("import spaces; spaces.Func('f'); spaces.APPS['blur'].pipeline()")
    assert {"numpy", "spaces.apps.pipelines.blur"} <= modules
    others = {"llvmlite", "rich", "spaces.backend", "spaces.apps.pipelines.harris"}
    assert not others & modules


def test_the_package_is_the_program(tmp_path):
    run = [sys.executable, "-m", "spaces", "--version"]
    out = subprocess.run(run, capture_output=True, text=True, check=True, cwd=ROOT).stdout
    assert out == f"spaces {spaces.__version__}\n"


def test_a_pipeline_that_promises_nothing_needs_no_solver():
    code = "import spaces; f = spaces.Func('f'); f[spaces.Var('x')] = 1; spaces.pipeline(f)"
    assert "z3" not in imported(code)
