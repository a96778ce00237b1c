"""Apps by name, and pipelines of the user by file and function."""

import pytest

from spaces.apps.catalog import APPS, find
from spaces.apps.errors import WrongUsage

OWN = """
from spaces.model.algorithm.freeze import pipeline
from spaces.model.algorithm.func import Func, Var

def double():
    x = Var("x")
    f = Func("f")
    f[x] = x * 2
    return pipeline(f)

def undefined():
    return pipeline(Func("g"))

def nothing():
    return None

def broken():
    return 1 // 0

number = 3

ready = double()
"""


@pytest.fixture
def own(tmp_path):
    path = tmp_path / "own.py"
    path.write_text(OWN)
    return path


def test_apps_are_found_by_name():
    assert find("blur") is APPS["blur"]


def test_a_function_of_a_file_is_an_app(own):
    assert [f.name for f in find(f"{own}:double").pipeline().functions] == ["f"]


def test_a_pipeline_of_a_file_is_an_app(own):
    assert [f.name for f in find(f"{own}:ready").pipeline().functions] == ["f"]


@pytest.mark.parametrize(
    ("function", "message"),
    [
        ("undefined", "Func g is used but not defined"),
        ("nothing", "returned NoneType, not a Pipeline"),
        ("broken", "failed: ZeroDivisionError"),
        ("absent", "defines no function absent"),
        ("number", "defines no function number"),
    ],
)
def test_what_is_wrong_with_a_function_is_said_in_a_sentence(own, function, message):
    with pytest.raises(WrongUsage, match=message):
        find(f"{own}:{function}").pipeline()


def test_a_name_that_nothing_has_is_answered_with_the_names_there_are():
    said = r"no app 'blurr' \(is blur, .*meant\?\); the apps are blur, unsharp.*file\.py"
    with pytest.raises(WrongUsage, match=said):
        find("blurr")


def test_a_file_must_exist_and_be_python(tmp_path):
    with pytest.raises(WrongUsage, match=r"There is no file .*gone\.py"):
        find(f"{tmp_path}/gone.py:f")
    (tmp_path / "bad.py").write_text("def (")
    with pytest.raises(WrongUsage, match=r"bad\.py failed: SyntaxError"):
        find(f"{tmp_path}/bad.py:f")
