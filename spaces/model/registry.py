"""Names for things that users add: those of the library, those registered, and those of other
packages.

A package adds things as entry points (``pyproject.toml``)::

    [project.entry-points."spaces.cost_models"]
    cache_misses = "my_package.models:of"

They are looked up by name, and imported at their first use. They never replace a name of the
library or of a registration.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Iterator, Mapping, MutableMapping
from functools import lru_cache
from importlib.metadata import EntryPoint, entry_points
from typing import TypeVar

from attrs import define, field

from spaces.model.articles import shown_kind

Thing = TypeVar("Thing")

log = logging.getLogger("spaces.plugins")


class PluginError(ValueError):
    """What another package adds cannot be used; ``str`` gives a sentence with its name."""


@define(eq=False)
class Registry(MutableMapping[str, Thing]):
    """Things of one kind by name.

    Attributes:
        group: the group of entry points, such as ``spaces.cost_models``.
        what: the kind, as sentences begin with it.
        own: the things of the library; importing one may be left to its look-up.
        wanted: what each must be, for the sentence about one that is not.
        is_fit: whether something is of this kind.
    """

    group: str
    what: str
    own: Mapping[str, Thing]
    wanted: str = "a function"
    is_fit: Callable[[object], bool] = callable
    _added: dict[str, Thing] = field(factory=dict)

    def __getitem__(self, name: str) -> Thing:
        """The thing of a name.

        Raises:
            KeyError: there is none.
            PluginError: the package that has it cannot be imported, or gives something else.
        """
        if name in self._added:
            return self._added[name]
        if name in self.own:
            return self.own[name]
        return self._loaded(self._plugins()[name])

    def __setitem__(self, name: str, thing: Thing) -> None:
        self._added[name] = thing

    def __delitem__(self, name: str) -> None:
        del self._added[name]

    def __iter__(self) -> Iterator[str]:
        return iter({**dict.fromkeys(self.own), **self._added, **self._plugins()})

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __contains__(self, name: object) -> bool:
        return name in self.own or name in self._added or name in self._plugins()

    def _plugins(self) -> dict[str, EntryPoint]:
        """The entry points by name, but those that would replace a name of the library."""
        found = _entry_points(self.group, tuple(sys.path))
        return {name: one for name, one in found.items() if name not in self.own}

    def _loaded(self, point: EntryPoint) -> Thing:
        package = "an unknown package" if point.dist is None else point.dist.name
        try:
            thing = point.load()
        except Exception as error:  # the mistake of that package
            raise PluginError(
                f"{self.what} {point.name} of {package} cannot be imported from {point.value}: "
                f"{type(error).__name__}, {error}."
            ) from error
        if not self.is_fit(thing):
            raise PluginError(
                f"{self.what} {point.name} of {package} must be {self.wanted}; {point.value} is "
                f"{shown_kind(thing)}."
            )
        log.debug("%s %s comes from %s", self.what, point.name, package)
        made: Thing = thing
        return made


@lru_cache(maxsize=32)
def _entry_points(group: str, path: tuple[str, ...]) -> dict[str, EntryPoint]:
    """The entry points of a group; of several with one name the first package counts. To look
    through all packages takes long, so it is done again only if the path of imports changes.
    """
    found: dict[str, EntryPoint] = {}
    for point in entry_points(group=group):
        if point.name in found:
            log.warning("%s has two entry points called %s", group, point.name)
        found.setdefault(point.name, point)
    return found
