"""How to install the optional packages that a feature needs, for messages."""

from __future__ import annotations


def how_to_install(extra: str) -> str:
    """The command that installs an extra of ``pyproject.toml``. The library is not on the package
    index, so it names a checkout.
    """
    return f"pip install '.[{extra}]' in the checkout of this library"
