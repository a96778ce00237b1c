"""Finds what the files of a folder define, so that a new file needs no line in another one."""

from __future__ import annotations

import pkgutil
from collections.abc import Iterator
from importlib import import_module
from types import ModuleType
from typing import Any


def find_in_files(package: ModuleType, name: str) -> Iterator[Any]:
    """What the files of a package, and of the packages in it, define under a name; in the order of
    the paths of the files. Imports each of them.

    Args:
        package: the package.
        name: the name, such as ``RULES``.
    """
    for file in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        module = import_module(file.name)
        if hasattr(module, name):
            yield getattr(module, name)
