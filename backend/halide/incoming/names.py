"""The names of things here, by their names in Halide.

Halide adds ``$1``, ``$2`` and so on to a name that is taken already. Here a thing has the name that
its author wrote, if no other thing wants that name.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping

from attrs import frozen

from spaces.backend.halide.incoming.roles import Roles
from spaces.model.algorithm.var import OUTERMOST

_ADDED = re.compile(r"\$\d+$")


@frozen
class IncomingNames:
    """The names here of the things of a pipeline, by their names in Halide.

    Attributes:
        arguments: those of images, Params, and arrays inside the pipeline.
        funcs: those of Funcs that their author has defined; none is that of an argument.
    """

    arguments: Mapping[str, str]
    funcs: Mapping[str, str]

    @staticmethod
    def of(roles: Roles) -> IncomingNames:
        """The names of the things of a file."""
        given = [one.name for one in roles.inputs()]
        arguments = plain_names((*given, *(one.name for one in roles.contents.buffers)))
        funcs = plain_names((func.name for _, func in roles.authored()), taken=arguments.values())
        return IncomingNames(arguments, funcs)


def written(name: str) -> str:
    """The name as its author wrote it, with letters, digits and underscores alone."""
    plain = re.sub(r"\W", "_", _ADDED.sub("", name), flags=re.ASCII)
    return plain if plain and not plain[0].isdigit() else f"v{plain}"


def full(name: str) -> str:
    """The whole name, with what Halide has added to it."""
    return written(name.replace("$", "_"))


def plain_names(names: Iterable[str], taken: Collection[str] = ()) -> Mapping[str, str]:
    """A name here for each different name of Halide, none of them among ``taken``."""
    each = tuple(dict.fromkeys(names))
    wishes = Counter(map(written, each))
    used = {*taken, *OUTERMOST}
    found: dict[str, str] = {}
    # Those that are alone with their wish come first.
    for name in sorted(each, key=lambda one: wishes[written(one)] > 1):
        wish = written(name)
        found[name] = free_name(wish if wishes[wish] == 1 else full(name), used)
        used.add(found[name])
    return {name: found[name] for name in each}


def free_name(wish: str, taken: Collection[str]) -> str:
    """``wish``, with a number behind it if it is taken."""
    name, number = wish, 1
    while name in taken:
        name, number = f"{wish}_{number}", number + 1
    return name
