"""``spaces calibrate``: fits the cost model of CPUs to this machine."""

from __future__ import annotations

import json
from typing import Annotated

import typer
from attrs import asdict

from spaces.apps.command_line.console import line
from spaces.apps.command_line.options import CPU, MOST, Seed
from spaces.apps.command_line.program import AsJson, command
from spaces.apps.command_line.progress import Reporter
from spaces.apps.command_line.tune import StoreFile, opened_store
from spaces.apps.errors import CommandError
from spaces.backend.measuring.session import MeasuringError
from spaces.constraints.devices.device import CpuDevice, device
from spaces.tuning.calibration import calibrate as fit
from spaces.tuning.identity import this_machine
from spaces.tuning.kernels import KERNELS

Count = Annotated[
    int,
    typer.Option(
        "--count", min=8, max=MOST, help="Measure so many schedules of each small pipeline."
    ),
]


@command(
    "calibrate",
    "Fit the cost model reuse to this machine.",
    "calibrate",
    "calibrate --count 48 --store blur.sqlite",
)
def calibrate(
    count: Count = 24, store: StoreFile = "", seed: Seed = 0, as_json: AsJson = False
) -> None:
    """Measure random schedules of a few small pipelines, and fit the prices of the cost model reuse
    to their times. The store keeps the prices for this machine if they rank schedules that the fit
    did not see clearly better; then tune and best use them. It takes some minutes.
    """
    cpu = device(CPU)
    assert isinstance(cpu, CpuDevice)
    names = [kernel.__name__ for kernel in KERNELS]
    with opened_store(store) as opened, Reporter() as reporter:

        def show(kernel: str, measured: int) -> None:
            step = (names.index(kernel) + 1, len(names))
            reporter.show(f"measuring {kernel}", {"schedules": measured}, step=step)

        try:
            found = fit(cpu, schedules=count, seed=seed, progress=show)
        except (MeasuringError, ValueError) as error:
            raise CommandError(str(error)) from None
        if found.is_better:
            opened.keep_prices(this_machine(cpu), found.prices)
        path = opened.path
    if as_json:
        report = {
            "schedules": found.schedules,
            "rank_correlation": {"before": found.before, "after": found.after},
            "kept": found.is_better,
            "store": path,
            "prices": asdict(found.prices),
        }
        line(json.dumps(report, indent=2))
        return
    line(
        f"{found.schedules} schedules with times. Rank correlation of costs and times, on half of "
        f"them that the fit did not see: {found.before:.2f} before, {found.after:.2f} after."
    )
    if found.is_better:
        line(f"{path} keeps the fitted prices for this machine.")
    else:
        line("The prices stay as they are: the fitted ones do not rank clearly better.")
