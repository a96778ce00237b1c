"""The rows of the table of spaces: each figure beside its peer, or beside the first measurement."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeAlias

from bench.spaces import best_ones, limits_kept, lists, peers
from bench.spaces.limits import is_failed

Results: TypeAlias = Mapping[str, Any]
Row: TypeAlias = tuple[str, str, str]

HEADERS = ("one core", "found", "beside it")

FIRST = {
    "hand_schedules": "0 of 46",
    "candidates": "17 of 46 without an answer in 20 s",
    "first_schedule": "7 over 20 s, 3 errors",
    "sample": "1 without an answer in 20 s",
    "structures": "60 to 250",
    "verdict of harris": "7 ms",
    "verdict of unsharp": "7 ms",
    "verdict of local_laplacian": "113 ms",
    "lateness": "local_laplacian: 34 min after 10 s",
    "top_five": "costs 0.1 to 0.6 % apart",
}
"""The figures before spaces became sequences of decisions."""

_THEN = "at first: "


def rows(results: Results) -> list[Row]:
    """The rows of all parts that ``results`` has."""
    made: list[Row] = []
    for name, entry in results.items():
        made += _ROWS[name](entry["found"])
    return made


def _hand_schedules(found: Results) -> list[Row]:
    return [
        (
            f"hand schedules that `{preset}` has",
            f"{sum(f.get('is_found', False) for f in each.values())} of {len(each)}"
            f"{_failures(each.values())}",
            _THEN + FIRST["hand_schedules"] if preset == "small" else "",
        )
        for preset, each in found.items()
    ]


def _candidates(found: Results) -> list[Row]:
    what = "number of candidates, `{preset}`, limit {limit:g} s an app"
    return _times(found, what, FIRST["candidates"])


def _first_schedule(found: Results) -> list[Row]:
    what = "first schedule of the iteration, `{preset}`, limit {limit:g} s an app"
    return _times(found, what, FIRST["first_schedule"])


def _sample(found: Results) -> list[Row]:
    what = "three random schedules, `{preset}`, limit {limit:g} s an app"
    made = _times(found, what, FIRST["sample"])
    small = found["small"]
    drawn = [f["schedules_per_second"] for f in small.values() if not is_failed(f)]
    if drawn:
        rate = f"median {statistics.median(drawn):,.1f}"
        if not is_failed(small["harris cpu"]):
            rate += f", harris {small['harris cpu']['schedules_per_second']:,.1f}"
        made.append(("random schedules a second, `small`", rate, ""))
    return made


def _times(found: Results, what: str, first: str) -> list[Row]:
    return [
        (
            what.format(preset=preset, limit=lists.SECONDS),
            _spread([f["s"] for f in each.values() if not is_failed(f)], len(each))
            + _failures(each.values()),
            _THEN + first if preset == "small" else "",
        )
        for preset, each in found.items()
    ]


def _spread(seconds: list[float], number: int) -> str:
    if not seconds:
        return f"0 of {number}"
    middle, longest = statistics.median(seconds), max(seconds)
    return f"{len(seconds)} of {number}; median {middle:.3f} s, longest {longest:.2f} s"


def _failures(each: Iterable[Results]) -> str:
    """How many measurements reached their limit of time, and how many ended with an error."""
    failed = [found for found in each if is_failed(found)]
    late = sum("timed_out_s" in found for found in failed)
    parts = [
        f"; {number} {what}"
        for number, what in ((late, "out of time"), (len(failed) - late, "with an error"))
        if number
    ]
    return "".join(parts)


def _structures(found: Results) -> list[Row]:
    return [
        (
            f"structures judged and scored a second, {app}, {order}",
            _shown(rate, lambda rate: _rate(rate["structures_per_second"])),
            _THEN + FIRST["structures"] if order == "stagewise" else "",
        )
        for app, rates in found.items()
        for order, rate in rates.items()
    ]


def _rate(number: float) -> str:
    """A rate with at least two digits: 0.21, 4.8, 1,234."""
    return f"{number:,.0f}" if number >= 10 else f"{number:.2g}"


def _tile_choices(found: Results) -> list[Row]:
    return [
        (
            f"tile choices of one structure a second, {what}",
            _shown(rate, lambda rate: f"{rate['choices_per_second']:,.0f}"),
            "",
        )
        for what, rate in found.items()
    ]


def _verdicts(found: Results) -> list[Row]:
    return [
        (
            f"`verify` of one schedule of {app}, cold",
            _shown(run, lambda run: f"{run['ms']:.1f} ms"),
            _THEN + FIRST[f"verdict of {app}"],
        )
        for app, run in found.items()
    ]


def _lateness(found: Results) -> list[Row]:
    made = []
    for name in dict.fromkeys(name for calls in found.values() for name in calls):
        runs = [calls[name] for calls in found.values()]
        late = [run["late_s"] for run in runs if not is_failed(run)]
        worst = f"at most {max(late):.2f} s late" if late else "none"
        first = _THEN + FIRST["lateness"] if name == "search stagewise" else ""
        what = f"{name}, limit {limits_kept.SECONDS:g} s"
        made.append((what, worst + _failures(runs), first))
    return made


def _top_five(found: Results) -> list[Row]:
    def shown(one: Results) -> str:
        apart = f"{one['least_decisions_apart']} to {one['most_decisions_apart']} decisions apart"
        return f"{apart}, costs {100 * (one['last_over_first_cost'] - 1):.1f} %"

    what = f"best {best_ones.TOP} of {{}}, limit {best_ones.SECONDS:g} s"
    return [
        (what.format(app), _shown(one, shown), _THEN + FIRST["top_five"])
        for app, one in found.items()
    ]


def _peers(found: Results) -> list[Row]:
    names = {"kernel_tuner": "Kernel Tuner", "z3": "z3 listing models"}
    what = "legal tile choices listed a second, one kernel of the unsharp mask"
    ours = _shown(found["ours"], _listed)
    return [(what, ours, f"{name}: {_shown(found[key], _listed)}") for key, name in names.items()]


def _listed(found: Results) -> str:
    if "skipped" in found:
        return str(found["skipped"])
    rest = "" if found.get("in_time", True) else f", {found['legal']:,} in {peers.SECONDS:g} s"
    return f"{found['legal_per_second']:,.3g}{rest}"


def _shown(found: Results, text: Callable[[Results], str]) -> str:
    """A result as text; a time limit or an error as such."""
    if "timed_out_s" in found:
        return f"out of time after {found['timed_out_s']:g} s"
    return str(found["error"]) if "error" in found else text(found)


_ROWS: dict[str, Callable[[Results], list[Row]]] = {
    "hand_schedules": _hand_schedules,
    "candidates": _candidates,
    "first_schedule": _first_schedule,
    "sample": _sample,
    "structures": _structures,
    "tile_choices": _tile_choices,
    "verdicts": _verdicts,
    "lateness": _lateness,
    "top_five": _top_five,
    "peers": _peers,
}
