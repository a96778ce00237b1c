"""A run of a bundle: all apps are checked or timed, each in a process of its own."""

from __future__ import annotations

import json
import platform
import shutil
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from bench.gpu.runner import folder as records
from bench.gpu.runner.folder import FULL, SMALL
from bench.gpu.runner.processes import Died, lines
from bench.gpu.runner.times import PROTOCOL

WORK = "_work"
"""The command of the runner that does one task."""

_SILENT = 60.0
"""Seconds without a word after which a process is stopped: a kernel may never end."""

_CLOCKS = (
    "driver_version,clocks.sm,clocks.max.sm,clocks.mem,clocks.max.mem,power.draw,power.limit,"
    "temperature.gpu"
)
"""What nvidia-smi says of the card, where it is."""


class Run:
    """A bundle and the file of its results, which is written after each app. Results of earlier
    commands stay if they are of the same bundle and the same card.

    Attributes:
        found: the results.
        end: when the run must end, by the monotonic clock.

    Raises:
        ValueError: the folder holds no bundle, or lacks an app.
        Died: there is no card.
    """

    def __init__(self, folder: Path, file: Path, apps: Iterable[str] | None, end: float) -> None:
        self.folder = folder
        self.file = file
        self.end = end
        about = records.about(folder)
        self.apps = _chosen(apps, about["apps"])
        same = {
            "bundle": {name: one for name, one in about.items() if name != "apps"},
            "card": next(self._lines({"what": "about"})),
        }
        earlier = json.loads(file.read_text("utf-8")) if file.exists() else {}
        is_same = all(earlier.get(name) == one for name, one in same.items())
        self.found: dict[str, Any] = earlier if is_same else same
        self.found |= {"machine": _machine(), "protocol": PROTOCOL}

    def check(self) -> bool:
        """Checks small sizes of all apps, then full sizes. True if all is right."""
        checked = self.found.setdefault("check", {})
        for app in self.apps:
            checked[app] = {}
        for size in (SMALL, FULL):
            for app in self.apps:
                self._check(app, size, checked[app])
        return all(map(is_good, self._verdicts()))

    def _verdicts(self) -> Iterator[dict[str, Any]]:
        for app in self.apps:
            for one in self.found["check"][app].values():
                yield from (one[size] for size in (SMALL, FULL))

    def _check(self, app: str, size: str, of_app: dict[str, dict[str, Any]]) -> None:
        subject = records.subject(self.folder, app)
        names = []
        for name, record in subject["contenders"].items():
            one = of_app.setdefault(name, {})
            if size in record.get("refused", {}):
                one[size] = {"refused": record["refused"][size]}
            else:
                names.append(name)
        for said in self._said({"what": "check", "app": app, "size": size}, names):
            one = of_app[said["contender"]]
            if "found" in said:
                one[size] = said["found"]
            else:
                one["loaded"] = said["loaded"]
        self._write(app, subject)
        words = (f"  {name}: {_words(one[size])}" for name, one in of_app.items())
        print(f"{app}, {size}", *words, sep="\n", flush=True)

    def time(self, turns: int) -> bool:
        """Times all apps at full size, without what is known to be wrong. True if each app has a
        time.

        Args:
            turns: the most turns of each contender.
        """
        if "ceilings" not in self.found:
            try:
                self.found["ceilings"] = next(self._lines({"what": "ceilings"}))
            except Died as died:
                self.found["ceilings"] = {"failed": str(died)}
        timed = self.found.setdefault("times", {})
        apps = [app for app in self.apps if records.subject(self.folder, app)["timed"]]
        for number, app in enumerate(apps):
            left = max(self.end - time.monotonic(), 0.0)
            timed[app] = {}
            self._time(app, left / (len(apps) - number), turns, timed[app])
        return all(any(map(best_ms, timed[app].values())) for app in apps)

    def _time(
        self, app: str, seconds: float, turns: int, of_app: dict[str, dict[str, Any]]
    ) -> None:
        subject = records.subject(self.folder, app)
        checked = self.found.get("check", {}).get(app, {})
        names = [
            name
            for name in subject["contenders"]
            if not any(map(is_bad, checked.get(name, {}).values()))
        ]
        task = {"what": "time", "app": app, "seconds": seconds / 2, "turns": turns}
        for said in self._said(task, names):
            more = said.get("found") or said.get("times") or {"loaded": said.get("loaded")}
            of_app.setdefault(said["contender"], {}).update(more)
        for name, one in of_app.items():
            one["beforehand"] = subject["contenders"][name].get("beforehand", {}).get(FULL, [])
        self._write(app, subject)
        words = (f"  {name}: {_words(one)}" for name, one in of_app.items())
        print(f"{app}, times", *words, sep="\n", flush=True)

    def _said(self, task: Mapping[str, Any], names: Iterable[str]) -> Iterator[dict[str, Any]]:
        """What processes say of a task. If one dies, the contender that it was at has failed, or
        all if it was at none; another process goes on with those that have no result.
        """
        rest = list(names)
        is_done = False
        while rest and not is_done:
            before, at = list(rest), None
            try:
                for said in self._lines({**task, "contenders": rest}):
                    at = said.get("began", at)
                    is_done = is_done or "times" in said
                    if "found" in said and (task["what"] == "check" or not is_good(said["found"])):
                        rest.remove(said["contender"])
                    if "began" not in said:
                        yield said
            except Died as died:
                if is_done:
                    return
                if time.monotonic() >= self.end:
                    why = {"not_reached": str(died)}
                    yield from ({"contender": name, "found": why} for name in rest)
                    return
                failed = rest if at is None else [at]
                for name in [one for one in failed if one in rest]:
                    rest.remove(name)
                    yield {"contender": name, "found": {"failed": str(died)}}
            is_done = is_done or rest == before
        if task["what"] == "check":
            why = {"failed": "its process said nothing of it"}
            yield from ({"contender": name, "found": why} for name in rest)

    def _lines(self, task: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        if self.end <= time.monotonic():
            raise Died("there was no time left")
        # The program that runs is one file; a worker is another run of it.
        command = [sys.executable, sys.argv[0], WORK, json.dumps(task), str(self.folder)]
        return lines(command, _SILENT, self.end)

    def _write(self, app: str, subject: Mapping[str, Any]) -> None:
        self.found.setdefault("absent", {})[app] = subject["absent"]
        records.write(self.file, self.found)


def is_good(found: Mapping[str, Any]) -> bool:
    """Whether results are right, or it is said why there are none to be had here."""
    return bool(found.get("right", "refused" in found or "absent" in found))


def is_bad(found: object) -> bool:
    """Whether results are wrong, or there are none because of a fault."""
    return isinstance(found, dict) and ("failed" in found or found.get("right") is False)


def best_ms(found: Mapping[str, Any]) -> float | None:
    """The time of a contender that counts: with the cache flushed, as a graph where that works."""
    for launching in ("graph", "launched"):
        if launching in found:
            return float(found[launching]["cold"]["ms"])
    return None


def _words(found: Mapping[str, Any]) -> str:
    for what in ("failed", "refused", "absent", "not_reached"):
        if what in found:
            return f"{what.replace('_', ' ')}: {found[what]}"
    ms = best_ms(found)
    if ms is not None:
        return f"{ms} ms"
    if found.get("right"):
        return "right" if found["same_bits"] else "right, but for rounding"
    return f"WRONG: {found['why']}" if "why" in found else "no result"


def _chosen(apps: Iterable[str] | None, known: Iterable[str]) -> list[str]:
    there = list(known)
    missing = [app for app in apps or () if app not in there]
    if missing:
        raise ValueError(
            f"The bundle has no {', '.join(missing)}; it has {', '.join(there) or 'no app'}."
        )
    return list(apps or there)


def _machine() -> dict[str, Any]:
    found: dict[str, Any] = {"python": platform.python_version(), "numpy": np.__version__}
    command = shutil.which("nvidia-smi")
    if command is None:
        return {**found, "clocks": "nvidia-smi is not here"}
    asked = [command, f"--query-gpu={_CLOCKS}", "--format=csv"]
    try:
        done = subprocess.run(asked, capture_output=True, text=True, check=False, timeout=20)
    except subprocess.TimeoutExpired:
        return {**found, "clocks": "nvidia-smi does not answer"}
    return {**found, "clocks": (done.stdout or done.stderr).strip().splitlines()}
