"""The public names of the library, as its stub lists them.

``spaces/__init__.pyi`` is the one list of them: type checkers and editors read it, and so does the
package, which imports a name when it is first asked for. Headlines of the list are comments.
"""

from __future__ import annotations

import ast
from typing import NamedTuple


class PublicName(NamedTuple):
    """Where a public name comes from: ``attribute`` of ``module``; ``use`` is its headline."""

    module: str
    attribute: str
    use: str


def read_names(stub: str) -> dict[str, PublicName]:
    """The names that the text of a stub imports, in its order."""
    headings = [
        (n, line[2:]) for n, line in enumerate(stub.splitlines(), 1) if line.startswith("# ")
    ]
    found = {}
    for node in ast.parse(stub).body:
        if isinstance(node, ast.ImportFrom) and node.module is not None:
            use = [heading for n, heading in headings if n < node.lineno][-1]
            for alias in node.names:
                found[alias.asname or alias.name] = PublicName(node.module, alias.name, use)
    return found
