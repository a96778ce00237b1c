"""Functions in files of the user, named ``file.py:function``."""

from __future__ import annotations

import ast
import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from spaces.apps.errors import WrongUsage
from spaces.apps.files import is_there
from spaces.model.suggestions import some_of, suggestion


def is_function_name(name: str) -> bool:
    """Whether ``name`` has the form ``file.py:function``."""
    return name.rpartition(":")[0].endswith(".py")


def is_file_name(name: str) -> bool:
    """Whether ``name`` is a Python file without a function."""
    return name.removesuffix(":").endswith(".py")


def is_hlpipe_name(name: str) -> bool:
    """Whether ``name`` is a file of Halide, perhaps with estimates: ``file.hlpipe:out=640x480``."""
    return name.partition(":")[0].endswith(".hlpipe")


def functions_of(path: Path) -> list[str]:
    """The names of the functions of a Python file that can be called without arguments, in their
    order; the file does not run.

    Raises:
        WrongUsage: the file does not exist, or is no Python.
    """
    if not is_there(path, Path.is_file):
        raise WrongUsage(f"There is no file {path}.")
    try:
        tree = ast.parse(path.read_bytes())
    except (OSError, ValueError, SyntaxError) as error:
        raise WrongUsage(f"{path} cannot be read: {brief(error)}.") from None
    return [
        node.name
        for node in tree.body
        if isinstance(node, ast.FunctionDef)
        and not node.name.startswith("_")
        and len(node.args.defaults) == len(node.args.posonlyargs) + len(node.args.args)
    ]


def load_function(name: str) -> Callable[..., Any]:
    """The function that ``file.py:function`` names.

    Raises:
        WrongUsage: the file or the function does not exist, or the file fails when it runs.
    """
    return require_function(name, load_value(name))


def require_function(name: str, found: object) -> Callable[..., Any]:
    """What a file defines by a name, if that is a function.

    Raises:
        WrongUsage: it is something else; the sentence names the functions of the file.
    """
    if callable(found):
        return found
    file, _, function = name.rpartition(":")
    others = functions_of(Path(file))
    raise WrongUsage(
        f"{file} defines no function {function}{suggestion(function, others)}; it defines "
        f"{some_of(others) or 'none'}."
    )


def load_value(name: str) -> Any:
    """What ``file.py:name`` names; None if the file does not define it.

    Raises:
        WrongUsage: the file does not exist, or fails when it runs.
    """
    file, _, defined = name.rpartition(":")
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
    return getattr(module, defined, None)


def brief(error: BaseException) -> str:
    """An error of the user's code in a few words."""
    return f"{type(error).__name__}: {error}"
