"""The names of things here, by their names in Halide.

Halide adds ``$1``, ``$2`` and so on to a name that is taken already. Here a thing has the name that
its author wrote, if no other thing wants that name.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping

from attrs import define, field, frozen

from spaces.backend.halide.incoming.roles import Roles
from spaces.model.algorithm.var import OUTERMOST

NUMBER_ADDED = re.compile(r"\$(?P<func>\d+)(?=_|$)|(?<=^lambda)_(?P<of_lambda>\d+)$")
"""What Halide adds: ``f$1``, also inside of names that it makes, as ``f$1_intm``. It numbers all
Funcs of ``lambda_func``.
"""


_UNNAMED = re.compile(r"b(\d+)")
"""The name of an array inside a pipeline that has got none: Halide numbers all arrays of a process.
"""


@define
class DifferentNames:
    """Names that all differ.

    Attributes:
        taken: those that things have.
    """

    taken: set[str]
    _numbers: dict[str, int] = field(init=False, factory=dict)
    """By names that several things were to have, the last number behind one."""

    def take(self, wish: str) -> str:
        """The name for one more thing: ``wish``, or ``wish_1`` and so on if that is taken."""
        made = wish
        while made in self.taken:
            self._numbers[wish] = self._numbers.get(wish, 0) + 1
            made = f"{wish}_{self._numbers[wish]}"
        self.taken.add(made)
        return made


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
        arrays = {one.name: _numbered(one.name) for one in roles.contents.buffers}
        found = plain_names((*given, *arrays.values()))
        arguments = {name: found[arrays.get(name, name)] for name in (*given, *arrays)}
        funcs = plain_names((func.name for _, func in roles.authored()), taken=arguments.values())
        return IncomingNames(arguments, funcs)


def _numbered(array: str) -> str:
    """The name of an array with its number apart, if Halide has made both."""
    made = _UNNAMED.fullmatch(array)
    return array if made is None else f"b${made[1]}"


def written(name: str) -> str:
    """The name as its author wrote it, with letters, digits and underscores alone."""
    plain = re.sub(r"\W", "_", unnumbered(name), flags=re.ASCII)
    return plain if plain and not plain[0].isdigit() else f"v{plain}"


def unnumbered(name: str) -> str:
    """The name without the number that Halide adds."""
    return NUMBER_ADDED.sub("", name)


def plain_names(names: Iterable[str], taken: Collection[str] = ()) -> Mapping[str, str]:
    """A name here for each different name of Halide, none of them among ``taken``. Of several that
    were written alike, the one that was made first has that name, and the others get numbers. So a
    program has the same names each time that it is built.
    """
    each = tuple(dict.fromkeys(names))
    numbered = {name.replace("$", "_"): name for name in each if "$" in name}
    different = DifferentNames({*taken, *OUTERMOST})
    found = {
        name: different.take(written(_with_number(name, numbered)))
        for name in sorted(each, key=number_added)
    }
    return {name: found[name] for name in each}


def _with_number(name: str, numbered: Mapping[str, str]) -> str:
    """The name of partial results, with the number of their Func as Halide writes it. Those of
    ``f$1`` are ``f$1_intm``, or ``f_1_intm$2`` if something had that name before.
    """
    made = re.fullmatch(r"(.*)_intm\$\d+", name)
    base = None if made is None else numbered.get(made[1])
    return name if base is None else f"{base}_intm"


def number_added(name: str) -> int:
    """The number at the end of a name, which Halide adds to make names differ; -1 without one."""
    added = NUMBER_ADDED.search(name)
    return -1 if added is None else int(added["func"] or added["of_lambda"])
