"""The tables of measurements, made from ``bench/results``: all of them for
``docs/benchmarks.md``, and one with their means for README.
"""

from __future__ import annotations

import json
import statistics
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from bench import (
    against_gpu_autoschedulers,
    chains,
    gallery,
    gpu_found,
    gpu_static,
    halide_table,
    planted,
    profile_overhead,
)
from bench.against_autoschedulers import GROUPS, OURS, best_of
from bench.cost_quality.measured_sets import MeasuredSet
from bench.formal import DEVICES
from bench.gpu import table as gpu_table
from bench.spaces.table import HEADERS, rows
from spaces.apps.files import write_text
from spaces.backend.halide.autoschedule import AUTOSCHEDULERS, GPU_AUTOSCHEDULERS

RESULTS = Path(__file__).parent / "results"
ABOVE = 0.3
"""A regret that is counted apart."""
GPU = "gpu"
"""The results of `python -m bench gpu`, or of a bundle's runner."""
BEGIN, END = "<!-- bench: begin -->", "<!-- bench: end -->"


def renew_pages(folder: Path) -> None:
    """Puts the tables into the pages of a checkout, each between its two marks.

    Raises:
        ValueError: a page lacks the marks.
    """
    for name, made in (("README.md", summary), ("docs/benchmarks.md", tables)):
        page = folder / name
        before, begin, rest = page.read_text("utf-8").partition(BEGIN)
        _, end, after = rest.partition(END)
        if not begin or not end:
            raise ValueError(f"{page} has no place for the table, {BEGIN} to {END}")
        write_text(page, f"{before}{BEGIN}\n{made()}\n{END}{after}")


BESIDE = {
    "autoschedulers": "schedule of our search, beside the best of Halide's autoschedulers",
    "all of Halide": "the same, beside the best of these and of a schedule by hand in Halide",
    "hand": "the same, beside a schedule by hand in this library",
    "all of Halide, tuned": "schedule of tuning, beside the best of all of Halide",
}
"""The groups of contenders in README's table."""


def summary() -> str:
    """The means of the tables as one table in Markdown; above 1 ours is better."""
    found, compiled = (
        _load(name)["results"] for name in ("against_autoschedulers", "against_halide")
    )
    means, same = found["geometric_means"], compiled["geometric_means"]
    rows: list[tuple[object, ...]] = [
        (what, f"{means[group]:.2f}", means[f"apps: {group}"])
        for group, what in BESIDE.items()
        if group in means
    ]
    rows.append(
        ("one schedule by hand, compiled by both", f"{1 / same['ms_ours_over_halide']:.2f}",
         same["apps"])
    )  # fmt: skip
    for document in gallery.measured():
        for use, place, count, mean, *_ in gallery.rows(document):
            what = f"schedule of our search for the gallery, {use}, beside the autoschedulers"
            rows.append((f"{what}, on {place}", mean, count))
    on_gpu = _load("against_gpu_autoschedulers")["results"]["geometric_means"]
    for name in GPU_AUTOSCHEDULERS:
        mean = on_gpu[f"{name}, cost"]
        what = f"predicted cost on a GPU, beside {name} (no kernel ran)"
        rows.append((what, f"{mean['over ours']:.2f}", mean["apps"]))
    if _was_on_gpu():
        results = _load(GPU)
        for name, (mean, count) in gpu_table.means(results).items():
            rows.append((f"time on {results['card']['card']}, beside {name}", f"{mean:.2f}", count))
    table = _table(("time or cost, divided by ours", "geometric mean", "apps"), rows)
    return f"{table}\n\n{_medians(found['apps'])}"


def _medians(apps: Mapping[str, Any]) -> str:
    """A sentence with the median times of searches, over the apps where they ended."""
    taken = {
        name: [one["search_s"][name] for one in apps.values() if name not in one["failed"]]
        for name in (OURS, "Adams2019")
    }
    ours, adams = (statistics.median(seconds) for seconds in taken.values())
    return (
        f"A search takes {ours:.1f} s (median of {len(taken[OURS])} apps); Adams2019, Halide's "
        f"autoscheduler with a cost model, takes {adams:.1f} s on the {len(taken['Adams2019'])} "
        "apps where its schedule runs."
    )


def tables() -> str:
    """All results as Markdown."""
    on_gpu = (_on_gpu,) if _was_on_gpu() else ()
    found = (_gpu_found,) if (RESULTS / "gpu_found.json").exists() else ()
    gpus = (*on_gpu, _gpu_autoschedulers, *found, _gpu_static)
    away = (_gallery,) if gallery.measured() else ()
    searches = (_autoschedulers, *away, *gpus, _spaces, _quality, _first_found)
    counters = (_counters,) if (RESULTS / "profile_overhead.json").exists() else ()
    both_ways = (_both_ways,) if (RESULTS / "halide_pipelines.json").exists() else ()
    parts = (
        _speed,
        _halide,
        *both_ways,
        *searches,
        _blas,
        _formal,
        _throughput,
        *counters,
        _growth,
        _machine,
        _trust,
    )
    return "\n\n".join(part() for part in parts)


def _load(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((RESULTS / f"{name}.json").read_text("utf-8"))
    return found


def _speed() -> str:
    rows = []
    for app, found in _load("against_plain")["results"].items():
        ms = found["median_ms"]
        rows.append(
            (app, f"{found['plain']}: {ms[found['plain']]}", ms["searched, fastest"],
             f"{found['times_faster_than_plain']['searched, fastest']} x")
        )  # fmt: skip
    for app, found in _load("against_default")["results"].items():
        ms = found["median_ms"]
        rows.append(
            (app, f"default: {ms['default']}", ms["reuse fastest"],
             f"{found['times_faster_than_default']['reuse fastest']} x")
        )  # fmt: skip
    return _table(("app", "plain code, ms", "best schedule found, ms", "faster"), rows)


COMPARED = """\
Both compilers get the pipelines of `apps` under the same hand-written schedules. The table does not
compare with Halide's own apps under their own schedules. We keep scratch memory for the next run;
Halide returns it to the C library. The column *memory kept* is the ratio when both keep it."""
"""The conditions of the comparison with Halide, printed above its table."""


SEARCHED = """\
The first schedule that each search finds, not measured before. Above 1 ours is faster: than the
best of Halide's autoschedulers, than the best of these and of our hand-written schedule compiled
by Halide, and than our hand-written schedule compiled here. Columns *best of 5* and *tuned* compare
the fastest of the first five schedules of our search, and that of tuning for {tuning}.
In brackets is the interval of 95 % over the rounds; a difference under 3 % is a tie. An
autoscheduler fails if it takes over a minute and a half or all memory, or if its schedule fails to
compile or to run."""
"""The conditions of the comparison with autoschedulers, printed above its table."""


def _halide() -> str:
    found = _load("against_halide")["results"]
    rows = [
        (app, name, *_times(pair, "ms"), _ratio(pair, "ms"), _ratio(pair, "kept_ms"),
         *_times(pair, "compile_s"), _ratio(pair, "compile_s"))
        for app, pairs in found["apps"].items()
        for name, pair in pairs.items()
    ]  # fmt: skip
    means = found["geometric_means"]
    run, kept, compile_ = (_ratio(means, unit) for unit in ("ms", "kept_ms", "compile_s"))
    mean = f"geometric mean of {means['apps']}"
    rows.append((mean, "cpu", "", "", run, kept, "", "", compile_))
    columns = ("ours, ms", "Halide, ms", "ours / Halide", "memory kept", "ours compile, s")
    headers = ("app", "schedule", *columns, "Halide compile, s", "ours / Halide")
    return f"{COMPARED}\n\n{_table(headers, rows)}"


def _both_ways() -> str:
    return halide_table.table(_load("halide_pipelines")["pipelines"])


def _autoschedulers() -> str:
    found = _load("against_autoschedulers")["results"]
    groups = [group for group in GROUPS if group in found["geometric_means"]]
    rows: list[tuple[object, ...]] = []
    for app, one in found["apps"].items():
        seconds = (_seconds(one, name) for name in (OURS, *AUTOSCHEDULERS))
        ratios = (_times_ours(best_of(one, *GROUPS[group])) for group in groups)
        rows.append((app, *seconds, one["ms"].get(OURS, "failed"), *ratios))
    means = found["geometric_means"]
    mean = f"geometric mean of {means['apps']}"
    empty = ("",) * (len(AUTOSCHEDULERS) + 2)
    rows.append((mean, *empty, *(_mean_ratio(means, group) for group in groups)))
    searches = (f"{name}, s" for name in ("our search", *AUTOSCHEDULERS))
    headers = ("app", *searches, "ours, ms", *(f"{group} / ours" for group in groups))
    return f"{SEARCHED.format(tuning=_tuning(found['apps']))}\n\n{_table(headers, rows)}"


def _gallery() -> str:
    measured = gallery.measured()
    table = _table(gallery.HEADERS, [row for one in measured for row in gallery.rows(one)])
    lost = "\n\n".join(gallery.losses(one) for one in measured)
    return f"{gallery.WHAT}\n\n{table}\n\n{lost}"


def _gpu_autoschedulers() -> str:
    table = against_gpu_autoschedulers.table(_load("against_gpu_autoschedulers")["results"])
    return f"{against_gpu_autoschedulers.CONDITIONS}\n\n{_table(*table)}"


def _gpu_found() -> str:
    table = gpu_found.table(_load("gpu_found")["results"])
    return f"{gpu_found.CONDITIONS}\n\n{_table(*table)}"


def _gpu_static() -> str:
    table = gpu_static.table(_load("gpu_static")["results"])
    return f"{gpu_static.CONDITIONS}\n\n{_table(*table)}"


def _on_gpu() -> str:
    """The table of a run on a GPU."""
    results = _load(GPU)
    return f"{gpu_table.conditions(results)}\n\n{_table(*gpu_table.table(results))}"


def _was_on_gpu() -> bool:
    """Whether the results of a run on a GPU are there; no page tells of any before."""
    return (RESULTS / f"{GPU}.json").exists()


def _tuning(apps: Collection[str]) -> str:
    """How long the apps of a table were tuned, those that were."""
    known = _load("tuned")["results"]["apps"]
    seconds = [known[app]["seconds"] for app in apps if "seconds" in known.get(app, {})]
    if not seconds:
        return "no time"
    return f"{min(seconds):.0f} to {max(seconds):.0f} seconds an app"


def _seconds(found: dict[str, Any], name: str) -> object:
    return found["search_s"].get(name) if name not in found["failed"] else "failed"


def _times_ours(ratio: list[float] | None) -> str:
    """A ratio with its interval."""
    return "" if ratio is None else "{:.2f} ({:.2f}–{:.2f})".format(*ratio)


def _mean_ratio(means: Mapping[str, Any], group: str) -> str:
    """A mean; if it is one of fewer apps than are in the table, with their number."""
    apps = means.get(f"apps: {group}", means["apps"])
    return f"{means[group]:.2f}" + (f" of {apps}" if apps < means["apps"] else "")


def _times(found: dict[str, Any], unit: str) -> tuple[object, object]:
    """The measured times, ours and Halide's."""
    nothing = "refuses" if "halide_refuses" in found else ""
    return found.get(f"ours_{unit}", ""), found.get(f"halide_{unit}", nothing)


def _ratio(found: dict[str, Any], unit: str) -> str:
    ratio = found.get(f"{unit}_ours_over_halide")
    return "" if ratio is None else f"{ratio:.2f}"


def _blas() -> str:
    found = _load("against_blas")["results"]
    rows = [
        (name, pair["ours_ms"], pair["blas_ms"], f"{pair['part_of_blas_speed']:.0%}")
        for name, pair in found.items()
        if name != "size"
    ]
    size = found["size"]
    columns = ("ours, ms", "NumPy's BLAS, ms", "of its speed")
    return _table((f"SGEMM {size} x {size}", *columns), rows)


def _formal() -> str:
    """A row for each app: for each schedule the proven obligations, and the time of the proofs."""
    rows: dict[str, list[object]] = {}
    for name, found in _load("formal")["results"].items():
        app, _ = name.split()
        proven = f"{found['proven']} of {found['obligations']}"
        row = rows.setdefault(app, [app, found["stages"]])
        row += [found["verify_ms"], proven, found["prove_s"]]
    headers = (f"{s}: {what}" for s in DEVICES for what in ("verify, ms", "proven", "s"))
    return _table(("app, for all sizes", "stages", *headers), [tuple(row) for row in rows.values()])


def _trust() -> str:
    """The counts of the long checks that test verdicts and proofs."""
    fuzzing, mutants = _load("differential"), _load("mutants")
    runs = fuzzing["runs"]
    rows = [
        (
            f"random schedules ({fuzzing['legal']:,} legal): `{fuzzing['command']}`",
            f"{fuzzing['cases']:,}",
            f"{fuzzing['mismatches']} mismatches between the verdict and what happens",
        ),
        (
            "runs of their compiled code or of their kernels, value by value",
            f"{runs['compiled'] + runs['interpreted']:,}",
            "every run equals the reference",
        ),
        *planted.rows(mutants["packages"]),
    ]
    checks = _table(("check", "cases", "found"), rows)
    of_packages = planted.of_packages(mutants["packages"])
    if not of_packages:
        return checks
    return (
        f"{checks}\n\nA small change is one mistake in one function, such as `<` for `<=`, drawn "
        "at random and planted alone. A test notices it if the test fails, or no longer ends. "
        "Unnoticed: the tests that run the line pass, so one is missing. By no test: no test of "
        "the folders that were asked runs the line. Equivalent: the results stay the same, and "
        f"somebody wrote down why.\n\n{_table(planted.HEADERS, of_packages)}"
    )


def _throughput() -> str:
    found = _load("throughput")["results"]
    rows = [
        (f"cost model `{name}`", f"{rate:,} tile choices a second")
        for name, rate in found["tile_choices_per_second"].items()
    ]
    return _table(("one core", ""), rows)


GROWTH = """\
Seconds of a processor for chains of Funcs at 1024 x 1024: the default search without a time limit,
the verdict, lowering and LLVM. `cost / at root` compares the schedule found with all Funcs at root,
the first schedule of the search.\
"""
"""What the table of chains shows, printed above it."""


def _counters() -> str:
    results = _load("profile_overhead")["results"]
    table = _table(profile_overhead.HEADERS, profile_overhead.rows(results))
    return f"{profile_overhead.WHAT}\n\n{table}\n\n{profile_overhead.verdict(results)}"


def _growth() -> str:
    found = _load("chains")
    return f"{GROWTH}\n\n{chains.table(found['results'])}"


def _spaces() -> str:
    return _table(HEADERS, rows(_load("spaces")["results"]))


QUALITY = """\
How well a cost model ranks random schedules of an app, half of them near good ones. A cell has
Spearman's correlation of cost and measured time / by how much the fastest of the model's five
cheapest is slower than the fastest of all."""
"""What the table of cost models shows, printed above it."""


def _quality() -> str:
    """A row for each app: for each model the correlation and the regret."""
    found = _load("cost_quality")["results"]
    models = tuple(found["medians"])
    rows: list[tuple[object, ...]] = [
        (app, one["priced"], one["ended"], *(_ranked(one["models"][model]) for model in models))
        for app, one in found["apps"].items()
    ]
    rows.append(("median", "", "", *(_ranked(found["medians"][model]) for model in models)))
    headers = ("app", "schedules", "ended in time", *(f"`{model}`" for model in models))
    measured = f"Measured on {' and '.join(found['processors'])}."
    return f"{QUALITY} {measured}\n\n{_table(headers, rows)}"


FIRST_FOUND = """\
By how much the first schedule of a search, and the fastest of its first five, are slower than the
fastest one known of a pipeline. Known are drawn schedules, those of several searches and cost
models, and those of Halide's autoschedulers.
No price and no rule of the search was chosen by the pipelines of the last row."""
"""What the table of first schedules shows, printed above it."""

_SETS = {
    MeasuredSet.APPS: "apps",
    MeasuredSet.RANDOM: "random pipelines",
    MeasuredSet.SINGLE: "random pipelines of one idea",
    MeasuredSet.LEARN: "gallery, kinds to learn from",
    MeasuredSet.CHOOSE: "gallery, kinds to choose by",
    MeasuredSet.JUDGE: "gallery, kinds that only judge",
}


def _first_found() -> str:
    """A row for each set of pipelines."""
    loaded = _load("first_found")
    fives = loaded.get("best_of_five", {})
    rows = [
        (
            what,
            len(regrets),
            *_spread_of(regrets),
            *(_spread_of(list(fives[kind].values())) if kind in fives else ("–",) * 3),
        )
        for kind, what in _SETS.items()
        if (regrets := list(loaded["results"].get(kind, {}).values()))
    ]
    spread = ("median", "largest", f"above {ABOVE:.0%}")
    headers = ("pipelines", "number", *spread, *(f"best of five: {head}" for head in spread))
    machine = f"Measured on {loaded['machine']['processor']}, {loaded['machine']['cores']} cores."
    return f"{FIRST_FOUND} {machine}\n\n{_table(headers, rows)}"


def _spread_of(regrets: Sequence[float]) -> tuple[object, ...]:
    """The median, the largest, and how many are above the limit."""
    above = sum(one > ABOVE for one in regrets)
    return f"{statistics.median(regrets):.0%}", f"{max(regrets):.0%}", above


def _ranked(quality: dict[str, float]) -> str:
    return f"{quality['spearman']:.2f} / {quality['top_5_regret']:.0%}"


def _machine() -> str:
    info = _load("against_plain")["machine"]
    halide = info["packages"]["halide"]
    return (
        f"{info['processor']} ({info['llvm_cpu']}), {info['cores']} cores, {info['date']}; "
        f"contenders run in turns; times are medians, ratios are taken in each round; "
        f"Halide {halide}, same threads."
    )


def _table(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines)
