"""Checks or times one app in a process of its own. A fault of a kernel ends all work on the card in
its process, so another process goes on with the rest.

Each line of the output is a JSON object. ``began`` names the contender whose work begins, so that
whoever reads the lines knows at which one the process died.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from bench.gpu.runner import folder as records
from bench.gpu.runner.card import Card
from bench.gpu.runner.ceilings import ceilings
from bench.gpu.runner.checks import verdict
from bench.gpu.runner.folder import FULL, SMALL
from bench.gpu.runner.halide import HalideFailed, HalideProgram, HalideRuntime
from bench.gpu.runner.inputs import Array, digest, made
from bench.gpu.runner.library import LibraryProgram
from bench.gpu.runner.modules import NotLoaded, load
from bench.gpu.runner.programs import Images, KernelProgram, Program
from bench.gpu.runner.times import Flush, measured
from spaces.backend.cuda.drivers.driver import DriverError
from spaces.backend.measuring.agreement import EXACT, Tolerance


class Broken(Exception):
    """The card works no longer for this process."""


FAILURES = (DriverError, NotLoaded, OSError, RuntimeError, ValueError)
"""What a contender may raise; it alone is out then, unless the process is broken."""


def tell(**said: object) -> None:
    """Writes a line."""
    print(json.dumps(said), flush=True)


class Bench:
    """An app of a bundle on a card.

    Attributes:
        subject: the record of the app.
    """

    def __init__(self, card: Card, folder: Path, app: str) -> None:
        self.card = card
        self.folder = folder
        self.subject = records.subject(folder, app)
        self._runtime: HalideRuntime | None = None

    def images(self, size: str) -> Images:
        """The inputs of a size, on the card.

        Raises:
            ValueError: this machine makes other inputs from the seeds.
        """
        arrays = {}
        for name, recipe in self.subject["sizes"][size]["images"].items():
            arrays[name] = made(recipe)
            if digest(arrays[name]) != recipe["sha256"]:
                raise ValueError(f"This machine makes other values of {name} from the seed.")
        return Images(self.card, arrays)

    def program(self, name: str, size: str, images: Images) -> Program:
        """A contender, prepared."""
        at = self.subject["sizes"][size]
        record = self.subject["contenders"][name]
        outputs = {
            output: np.empty(one["shape"], one["dtype"]) for output, one in at["outputs"].items()
        }
        if record["kind"] == "kernels":
            module, form = load(self.card, self.folder, record["module"])
            tell(contender=name, loaded=form)
            given = {**images.arrays, **self._constants(record["constants"][size])}
            if len(given) > len(images.arrays):
                images = Images(self.card, given)
            steps = record["steps"][size]
            return KernelProgram(self.card, module, steps, images.addresses, outputs)
        if record["kind"] == "halide":
            on_card = {n: (a, images.addresses[n]) for n, a in images.arrays.items()}
            runtime = self._halide()
            return HalideProgram(
                self.card, runtime, self.folder, record, on_card, outputs, at["mins"],
                self.subject["scalars"],
            )  # fmt: skip
        return LibraryProgram(
            self.card, self.subject["app"], images.arrays, self.subject["scalars"]
        )

    def checked(self, name: str, size: str, images: Images) -> Program | None:
        """Tells whether a contender is right, and returns it if it is.

        Raises:
            Broken: its fault broke this process for all others.
        """
        tell(began=name)
        program = None
        try:
            program = self.program(name, size, images)
            found = self.verdict(name, size, program, program.run)
        except HalideFailed as error:
            found = {"refused" if size == SMALL else "failed": str(error)}
        except ImportError as error:
            found = {"absent": str(error)}
        except FAILURES as error:
            found = {"failed": f"{type(error).__name__}: {error}"}
        tell(contender=name, found=found)
        try:
            self.card.wait()
        except DriverError as error:
            raise Broken from error
        return program if found.get("right") else None

    def verdict(
        self, name: str, size: str, program: Program, run: Callable[[], None]
    ) -> dict[str, Any]:
        """Whether a run of a contender gives the results of the reference, from poisoned memory."""
        program.poison()
        run()
        at, record = self.subject["sizes"][size], self.subject["contenders"][name]
        allowed = Tolerance(*record["allowed"]) if record["allowed"] else EXACT
        return verdict(self.folder, at["outputs"], program.results(), allowed)

    def _constants(self, file: str | None) -> dict[str, Array]:
        if file is None:
            return {}
        with np.load(self.folder / file) as arrays:
            return dict(arrays)

    def _halide(self) -> HalideRuntime:
        if self._runtime is None:
            self._runtime = HalideRuntime(self.card, self.folder / "halide" / "runtime.so")
        return self._runtime


def check(bench: Bench, names: Iterable[str], size: str) -> None:
    """Tells for each contender whether its results are right."""
    images = bench.images(size)
    for name in names:
        program = bench.checked(name, size, images)
        if program is not None:
            program.release()


def measure(bench: Bench, names: Iterable[str], seconds: float, turns: int) -> None:
    """Tells the times of the contenders whose results are right."""
    end = time.monotonic() + seconds
    card = bench.card
    images = bench.images(FULL)
    checked = {name: bench.checked(name, FULL, images) for name in names}
    programs = {name: program for name, program in checked.items() if program is not None}
    left = end - time.monotonic()

    def why_wrong(name: str, run: Callable[[], None]) -> str:
        return str(bench.verdict(name, FULL, programs[name], run).get("why", ""))

    times = measured(
        card, programs, left, turns, lambda name: tell(began=name), why_wrong, Flush(card)
    )
    for name, found in times.items():
        tell(contender=name, times=found)


def work(folder: Path, task: Mapping[str, Any]) -> None:
    """Does one task of the runner's main process."""
    card = Card()
    with card.opened(), suppress(Broken):
        match task:
            case {"what": "check", "app": app, "contenders": names, "size": size}:
                check(Bench(card, folder, app), names, size)
            case {"what": "time", "app": app, "contenders": names, **limits}:
                measure(Bench(card, folder, app), names, limits["seconds"], limits["turns"])
            case {"what": "ceilings"}:
                tell(**ceilings(card))
            case _:
                tell(**card.about())
