"""Compile for CPU and GPU, verify, prove and search, in as many threads as the command line says.

Prints, as JSON, what each thread found. Run by ``tests/test_threads_at_once.py`` in a process of
its own: a fault in native code ends the process.
"""

from __future__ import annotations

import json
import sys
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from threading import Barrier

import numpy as np

from spaces.backend.compile import compile_cpu
from spaces.backend.compile_gpu import compile_gpu
from spaces.backend.lowering.gpu.passes import GPU_PASSES
from spaces.constraints.devices.device import device
from spaces.constraints.legality.verdict import CheckedSchedule
from spaces.constraints.legality.verify import verify
from spaces.constraints.proofs.prove import prove
from spaces.enumerate.search.limits import Limits
from spaces.enumerate.search.search import best, search
from spaces.enumerate.space.completing.emptiness import explain_empty
from spaces.enumerate.space.options import Options
from spaces.enumerate.space.schedule_space import ScheduleSpace
from spaces.model.algorithm.freeze import pipeline
from spaces.model.algorithm.func import Func
from spaces.model.algorithm.image_param import ImageParam
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.algorithm.rdom import RDom
from spaces.model.algorithm.var import Var
from spaces.model.directives.directives import schedule
from spaces.model.expressions.functions import clamp, select
from spaces.model.expressions.types import UInt16
from spaces.model.schedules.domain_order import Tail
from spaces.model.schedules.schedule import Schedule
from tests.cpus import FOUR_CORES

X, Y = Var("x"), Var("y")
SMALL = Options(
    root=("strips", "tiles"),
    inner=("vectors",),
    row_tiles=(64,),
    tiles=(8, 32),
    lanes=(1,),
)


def blur(tag: int) -> Pipeline:
    """A blur with unique constants, so that no cache knows it."""
    image = ImageParam(UInt16, 2, "input")
    blur_x, blur_y = Func("blur_x"), Func("blur_y")
    blur_x[X, Y] = (image[X, Y] + image[X + 1, Y] + image[X + 2 + tag % 3, Y]) / (3 + tag)
    blur_y[X, Y] = (blur_x[X, Y] + blur_x[X, Y + 1] + blur_x[X, Y + 2]) / 3
    sizes = {blur_y: [256, 128], image: [262, 130]}
    return pipeline(blur_y, estimates=sizes)


def scattered(tag: int) -> Pipeline:
    """Updates whose order the solver finds out."""
    f, r = Func("f"), RDom([(0, 40 + tag), (0, 30)], "r")
    f[X, Y] = X
    f[r.x * 2 + r.y % (3 + tag), r.y] += f[r.x, clamp(r.y * 3 - tag, 0, 29)]
    f[r.x, r.y] = select(r.x % (2 + tag) == r.y, f[r.y, r.x % 30], 2)
    return pipeline(f, estimates={f: [200, 30]})


def tiled(algorithm: Pipeline, tag: int) -> Schedule:
    """A blur's tiles, with a sliding window or without one."""
    tile = 8 << tag % 3
    directives = schedule(algorithm).func("blur_y")
    directives = directives.tile("x", "y", "xo", "yo", "xi", "yi", tile, 8, Tail.GUARD_WITH_IF)
    directives = directives.vectorize("xi", 4).parallel("yo")
    return directives.func("blur_x").store_at("blur_y", "xo").compute_at("blur_y", "yi").schedule


def verified(tag: int) -> list[str]:
    """What verify says of legal schedules and of one that the order of updates forbids."""
    algorithm, scatter = blur(tag), scattered(tag)
    plain = schedule(scatter)
    tried = [
        (algorithm, tiled(algorithm, tag)),
        (scatter, plain.schedule),
        (scatter, plain.func("f").update(0).reorder("r.y", "r.x").schedule),
        (scatter, plain.func("f").update(0).parallel("r.x").schedule),
        (scatter, plain.func("f").update(1).parallel("r.y").schedule),
    ]
    return [str(verify(p, s, device("cpu"))) for p, s in tried]


def proven(tag: int) -> list[str]:
    """The outcome of every proof about a legal schedule."""
    algorithm = blur(tag)
    checked = verify(algorithm, tiled(algorithm, tag), device("cpu"))
    assert isinstance(checked, CheckedSchedule)
    return [
        f"{p.obligation.statement} {p.outcome}" for p in prove(checked, timeout_ms=60_000).proofs
    ]


def compiled(tag: int) -> list[str]:
    """The code of a schedule, and what it computes."""
    algorithm = blur(tag)
    checked = verify(algorithm, tiled(algorithm, tag), device("cpu"))
    assert isinstance(checked, CheckedSchedule)
    made = compile_cpu(checked, threads=2)
    image = np.arange(130 * 262, dtype=np.uint16).reshape(130, 262) * (tag + 7)
    result = made.run({"input": image}, sizes={"blur_y": (256, 128)})["blur_y"]
    return [made.program_text("parallel"), *_digests(made.object_bytes(), result.tobytes())]


def tiled_for_gpu(algorithm: Pipeline, tag: int) -> Schedule:
    """A blur's blocks, each with a tile of the first stage in shared memory."""
    directives = schedule(algorithm).func("blur_y")
    directives = directives.gpu_tile("x", "y", "xi", "yi", 8 << tag % 3, 8, Tail.GUARD_WITH_IF)
    return directives.func("blur_x").compute_at("blur_y", "x").gpu_threads("x", "y").schedule


def printed(tag: int) -> list[str]:
    """The CUDA text of a schedule, and its program before and after all passes."""
    algorithm = blur(tag)
    checked = verify(algorithm, tiled_for_gpu(algorithm, tag), device("sm_80"))
    assert isinstance(checked, CheckedSchedule)
    made = compile_gpu(checked)
    return [made.source, made.program_text(), made.program_text(GPU_PASSES[-1])]


def _digests(*data: bytes) -> list[str]:
    return [sha256(one).hexdigest() for one in data]


def searched(tag: int) -> list[str]:
    """The cheapest schedules of a space, and why another one is empty."""
    space = ScheduleSpace(blur(tag), FOUR_CORES, SMALL)
    done = best(search(space, "reuse", "exhaustive", Limits(top=3)))
    narrow = Options(root=("tiles",), inner=("vectors",), tiles=(8,), lanes=(100_000,))
    empty = explain_empty(ScheduleSpace(blur(tag), FOUR_CORES, narrow), seconds=60)
    return [*(f"{found.cost} {found.schedule}" for found in done.best), str(empty)]


WORK = (verified, proven, compiled, printed, searched)


def found(thread: int, start: Barrier) -> list[list[str]]:
    """What one thread finds; no two threads do the same kind of work at the same time."""
    start.wait()
    kinds = [WORK[(step + thread) % len(WORK)] for step in range(len(WORK))]
    texts = {kind: kind(thread) for kind in kinds}
    return [texts[kind] for kind in WORK]


def main(at_once: int, threads: int) -> None:
    """Do the work of ``threads`` threads, ``at_once`` of them at the same time."""
    sys.setswitchinterval(1e-5)
    start = Barrier(at_once)
    with ThreadPoolExecutor(at_once) as pool:
        print(json.dumps(list(pool.map(lambda n: found(n, start), range(threads)))))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
