"""Which bugs a run plants."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path

from tests.mutants.bug import Bug, meaning
from tests.mutants.by_hand import MUTANTS
from tests.mutants.covering import definition_at
from tests.mutants.definitions import Definition, functions
from tests.mutants.mutations import mutations


def every_bug(root: Path) -> list[Bug]:
    """All bugs: those by hand, and the small changes of every function."""
    return [
        *(mutant.planted(root) for mutant in MUTANTS),
        *(bug for function in functions(root) for bug in mutations(function)),
    ]


def chosen(root: Path, places: Sequence[str], since: str | None) -> list[Bug]:
    """The bugs of some places, by default all.

    A place is the name of a bug by hand, ``by-hand`` for all of them, or the path of a file or
    folder of the product. Of functions those count that ``since``, a commit, does not have.

    Raises:
        ValueError: there is no such place.
    """
    by_name = {mutant.name: mutant for mutant in MUTANTS}
    bugs: list[Bug] = []
    all_functions = functions(root)
    for place in places:
        if place == "by-hand":
            bugs += [mutant.planted(root) for mutant in MUTANTS]
        elif place in by_name:
            bugs.append(by_name[place].planted(root))
        else:
            inside = [f for f in all_functions if Path(f.path).is_relative_to(place)]
            if not inside:
                raise ValueError(f"{place} is neither a bug by hand nor a folder with functions.")
            bugs += _of(inside, since)
    if not places:
        bugs = [] if since else [mutant.planted(root) for mutant in MUTANTS]
        bugs += _of(all_functions, since)
    return bugs


def _of(found: Sequence[Definition], since: str | None) -> list[Bug]:
    return [bug for one in found if since is None or _is_new(one, since) for bug in mutations(one)]


def _is_new(definition: Definition, since: str) -> bool:
    before = definition_at(since, definition)
    return before is None or meaning(before.node) != meaning(definition.node)


def drawn(bugs: Sequence[Bug], number: int | None, seed: int) -> list[Bug]:
    """So many of the bugs, each function as likely as any other; in an order that makes the first
    of them a sample, too.
    """
    source = random.Random(seed)
    of_function: dict[tuple[str, str], list[Bug]] = {}
    for bug in source.sample(list(bugs), len(bugs)):
        of_function.setdefault((bug.definition.path, bug.definition.name), []).append(bug)
    order: list[Bug] = []
    while of_function:
        for place in source.sample(list(of_function), len(of_function)):
            order.append(of_function[place].pop())
            if not of_function[place]:
                del of_function[place]
    return order[:number]
