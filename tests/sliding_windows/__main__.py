"""Draw schedules and prove each: ``python -m tests.sliding_windows --schedules 5000 --seed 1``.

Prints every refuted obligation with its schedule, then the counts, also when it is interrupted;
exits with 1 if one is refuted. ``--only NUMBER`` repeats one draw.
"""

from __future__ import annotations

import argparse
import contextlib
import sys
from collections import Counter
from itertools import count

from tests.sliding_windows.drawn import DrawnSchedule, drawn_schedules


def main(arguments: list[str]) -> int:
    """Draws schedules, proves each, and prints a summary; 1 if an obligation is refuted."""
    parser = argparse.ArgumentParser(prog="python -m tests.sliding_windows", description=__doc__)
    parser.add_argument("--schedules", type=int, default=1000, help="at least so many")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0, help="the number of the first draw")
    parser.add_argument("--only", type=int, help="repeat one draw, and print it")
    chosen = parser.parse_args(arguments)
    if chosen.only is not None:
        found = list(drawn_schedules(chosen.seed, chosen.only))
        print(*found, sep="\n")
        return 1 if any(one.refuted for one in found) else 0
    totals = Counter[str]()
    with contextlib.suppress(KeyboardInterrupt):
        for number in count(chosen.first):
            for one in drawn_schedules(chosen.seed, number):
                totals += tally(one)
                if one.refuted:
                    print(f"draw {number}, {one.way}:\n{one.text}", *one.refuted, sep="\n")
            totals["draws"] += 1
            if totals["schedules"] >= chosen.schedules:
                break
    for name in sorted(totals):
        print(f"{totals[name]:8} {name}")
    return 1 if totals["refuted"] else 0


def tally(one: DrawnSchedule) -> Counter[str]:
    """What one schedule adds to the totals."""
    counts = Counter({"schedules": 1, one.way: 1, "keep values": int(one.keeps)})
    counts.update({"proven": one.proven, "refuted": len(one.refuted)})
    counts.update(f"unknown: {kind}" for kind in one.unknown)
    return counts


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
