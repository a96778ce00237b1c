"""The product of two matrices under the hand schedule, and by the BLAS library that NumPy has."""

from __future__ import annotations

import multiprocessing
import os
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import numpy as np

from bench.contenders import inputs_of, program, written
from spaces.apps.pipelines.sgemm import SIZE
from spaces.apps.timing import interleaved
from spaces.backend.llvm.operators import FloatMode
from spaces.constraints.devices.device import host_cpu

_THREADS = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS")
"""Environment variables that BLAS libraries read when they load."""

_PAUSE_S = 0.25
"""After a product the threads of OpenBLAS look for the next one for 2^26 cycles before they sleep:
30 ms, or 100 ms on a busy machine. Ours takes 15 ms and would share its cores with them.
"""


def measure() -> dict[str, Any]:
    """The medians on one thread and on all, and the ratio of our speed to that of BLAS. Ours also
    scales and adds a third matrix.
    """
    cores = host_cpu().cores
    fresh = multiprocessing.get_context("spawn")
    found = {}
    for threads in dict.fromkeys((1, cores)):
        os.environ.update(dict.fromkeys(_THREADS, str(threads)))
        with ProcessPoolExecutor(1, mp_context=fresh) as process:
            found[f"{threads} threads"] = process.submit(_measure, threads).result()
    return {"size": SIZE, **found}


def _measure(threads: int) -> dict[str, Any]:
    images = inputs_of("sgemm")
    a, b = images["A"], images["B"]
    out = np.empty_like(a)
    runs = {
        "ours": program("sgemm", written("sgemm", "cpu"), threads, FloatMode.FAST),
        "blas": lambda: np.matmul(a, b, out=out),
    }
    timings = interleaved(runs, rounds=15, budget_s=30, pause_s=_PAUSE_S)
    ours, blas = timings["ours"], timings["blas"]
    return {
        "ours_ms": round(ours.median_ms, 2),
        "blas_ms": round(blas.median_ms, 2),
        "part_of_blas_speed": round(blas.ratio_to(ours), 3),
    }
