"""Functions in files of the user, named ``file.py:function``."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from apps.errors import WrongUsage
from apps.files import is_there


def is_function_name(name: str) -> bool:
    """Whether ``name`` has the form ``file.py:function``."""
    return name.rpartition(":")[0].endswith(".py")


def load_function(name: str) -> Callable[..., Any]:
    """The function that ``file.py:function`` names.

    Raises:
        WrongUsage: the file or the function does not exist, or the file fails when it runs.
    """
    file, _, function = name.rpartition(":")
    path = Path(file)
    if not is_there(path, Path.is_file):
        raise WrongUsage(f"There is no file {path}.")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise WrongUsage(f"{path} is not a Python file.")
    module = importlib.util.module_from_spec(spec)
    sys.modules.setdefault(path.stem, module)
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        raise WrongUsage(f"{path} failed: {brief(error)}") from error
    found = getattr(module, function, None)
    if not callable(found):
        raise WrongUsage(f"{path} defines no function {function}.")
    checked: Callable[..., Any] = found
    return checked


def brief(error: BaseException) -> str:
    """An error of the user's code in a few words."""
    return f"{type(error).__name__}: {error}"
