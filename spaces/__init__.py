"""Schedules of array pipelines as values: enumerate, count, rank, verify and compile them.

Some names are those of Python's builtins (``min``, ``sum``, ``abs`` ...), as they are Halide's:
import what you need by name, or the package, never everything. The package imports a name when it
is first asked for; ``__init__.pyi`` lists all of them.
"""

import logging
from pathlib import Path
from typing import Any

from spaces.public_names import read_names

__version__ = "0.1.0"

_NAMES = read_names(Path(__file__).with_suffix(".pyi").read_text("utf-8"))

__all__ = list(_NAMES)

# Quiet unless the program that uses the library asks for its messages.
logging.getLogger("spaces").addHandler(logging.NullHandler())


def __getattr__(name: str) -> Any:
    if name not in _NAMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    source = _NAMES[name]
    # As `from module import attribute` does it: the attribute may be a module of a package.
    module = __import__(source.module, fromlist=[source.attribute])
    globals()[name] = found = getattr(module, source.attribute)
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
