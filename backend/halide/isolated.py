"""Halide in a new process: for schedules that may crash it or never end.

>>> run_in_subprocess(pipeline, schedule, {"input": image}, seconds=30)["output"]
"""

from __future__ import annotations

import importlib.util
import pickle
import signal
import subprocess
from collections.abc import Mapping

from attrs import frozen

from spaces.backend.arguments import Array, Scalars, Sizes
from spaces.backend.halide.errors import HalideCrash, HalideMissingError, HalideTimeout
from spaces.backend.python_process import module_command, module_environment
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.schedules.schedule import Schedule


@frozen
class Job:
    """The arguments of :func:`spaces.backend.halide.bridge.build` and of ``realize``."""

    pipeline: Pipeline
    schedule: Schedule | None
    inputs: Mapping[str, Array]
    params: Scalars | None
    sizes: Sizes | None
    target: str


@frozen
class Answer:
    """The outputs of a job, or its error."""

    outputs: dict[str, Array]
    error: Exception | None = None


def run_in_subprocess(
    pipeline: Pipeline,
    schedule: Schedule | None,
    inputs: Mapping[str, Array],
    params: Scalars | None = None,
    sizes: Sizes | None = None,
    *,
    target: str = "host",
    seconds: float = 60.0,
) -> dict[str, Array]:
    """Builds and realizes in a new process. Arguments and result are those of ``realize``.

    Raises:
        HalideTimeout: it took longer than ``seconds``, and the process was killed.
        HalideCrash: the process died, for instance of a segmentation fault.
        HalideFailure: building or realizing failed.
        HalideMissingError: Halide is not installed.
        ArgumentError: the arguments do not fit the pipeline.
    """
    if importlib.util.find_spec("halide") is None:
        raise HalideMissingError
    job = pickle.dumps(Job(pipeline, schedule, dict(inputs), params, sizes, target))
    try:
        done = subprocess.run(
            module_command("spaces.backend.halide.worker"),
            input=job,
            capture_output=True,
            timeout=seconds,
            env=module_environment(),
            check=False,
        )
    except subprocess.TimeoutExpired as expired:
        raise HalideTimeout(
            f"Halide did not finish pipeline {pipeline.name} in {seconds:g} seconds."
        ) from expired
    if done.returncode:
        message = done.stderr.decode(errors="replace").strip()
        raise HalideCrash(
            f"The process running pipeline {pipeline.name} in Halide ended with "
            f"{_ending(done.returncode)}." + (f" Its output: {message[-2000:]}" if message else "")
        )
    answer: Answer = pickle.loads(done.stdout)
    if answer.error is not None:
        raise answer.error
    return answer.outputs


def _ending(code: int) -> str:
    if code >= 0:
        return f"exit status {code}"
    try:
        return signal.Signals(-code).name
    except ValueError:
        return f"signal {-code}"
