"""Random schedules in which Funcs are stored outside the loops in which they are computed."""

from __future__ import annotations

import random

from spaces.model.algorithm.pipeline import Function, Pipeline

TAILS = ("Auto", "GuardWithIf", "ShiftInwards", "RoundUp", "Predicate", "PredicateLoads")


def storing_schedule(rng: random.Random, pipeline: Pipeline, gpu: bool = False) -> str:
    """The text of a schedule, legal or not: consumers first, each with loops of its own and a place
    in the loops of one of its readers.
    """
    lines: list[str] = []
    paths: dict[str, list[tuple[str, str]]] = {}
    for function in reversed(pipeline.functions):
        name = function.name
        readers = [f for f in pipeline.functions if name in f.callees and f.name in paths]
        loops, calls = _loops(rng, function)
        around: list[tuple[str, str]] = []
        if readers:
            if rng.random() < 0.15:
                continue  # inline
            around, placed = _place(rng, _shared([paths[r.name] for r in readers]), function)
            calls = placed + calls
        elif gpu and loops:
            blocks, rest = loops[:1], loops[1:]
            calls += f".gpu_blocks({blocks[0]})"
            if rest and rng.random() < 0.5:
                calls += f".gpu_threads({rest[0]})"
        elif len(loops) > 1 and rng.random() < 0.15:
            calls += f".parallel({loops[0]})"
        if calls:
            lines.append(f"{name}{calls};")
        for index in range(1, len(function.stages)):
            if rng.random() < 0.3 and function.stages[index].pure_vars:
                var = rng.choice(function.stages[index].pure_vars)
                lines.append(f"{name}.update({index - 1}).split({var}, {var}, {var}u, 2);")
        paths[name] = [*around, *((name, loop) for loop in loops)]
    if rng.random() < 0.12 and not gpu:
        lines += _fused(rng, pipeline, paths)
    return "\n".join(lines)


def _shared(paths: list[list[tuple[str, str]]]) -> list[tuple[str, str]]:
    """The loops around all readers, outermost first."""
    common = paths[0]
    for path in paths[1:]:
        same = [a == b for a, b in zip(common, path, strict=False)]
        common = common[: same.index(False) if False in same else len(same)]
    return common


def _place(
    rng: random.Random, path: list[tuple[str, str]], function: Function
) -> tuple[list[tuple[str, str]], str]:
    """The loops around a Func, and the calls that compute it there and store it further out."""
    depth = rng.randint(0, len(path)) if rng.random() < 0.4 else len(path)
    inside = path[:depth]
    if not inside:
        return [], ".compute_root()"
    calls = f".compute_at({inside[-1][0]}, {inside[-1][1]})"
    out = rng.randint(0, depth)
    if rng.random() < 0.85 and out < depth:
        calls += f".store_at({path[out - 1][0]}, {path[out - 1][1]})" if out else ".store_root()"
        if rng.random() < 0.1 and out:
            calls += ".hoist_storage_root()"
    if function.args and rng.random() < 0.25:
        folded = rng.choice(function.args)
        forward = rng.choice(("", ", false"))
        calls += f".fold_storage({folded}, {rng.choice((1, 2, 3, 4, 5, 6, 8, 16, 64))}{forward})"
    return inside, calls


def _loops(rng: random.Random, function: Function) -> tuple[list[str], str]:
    """The loops of the pure stage of a Func, outermost first, and the calls that make them."""
    loops, calls = list(reversed(function.args)), ""
    if not loops:
        return [], ""
    for _ in range(rng.choices((0, 1, 2), (5, 4, 1))[0]):
        old = rng.choice(loops)
        tail = rng.choice(TAILS)
        outer, inner = f"{old}o", f"{old}i"
        at = loops.index(old)
        loops[at : at + 1] = [outer, inner]
        calls += f".split({old}, {outer}, {inner}, {rng.randint(2, 5)}, TailStrategy::{tail})"
    if len(loops) > 1 and rng.random() < 0.15:
        at = rng.randrange(len(loops) - 1)
        calls += f".fuse({loops[at + 1]}, {loops[at]}, {loops[at]}f)"
        loops[at : at + 2] = [f"{loops[at]}f"]
    if len(loops) > 1 and rng.random() < 0.5:
        rng.shuffle(loops)
        calls += f".reorder({', '.join(reversed(loops))})"
    if rng.random() < 0.1:
        calls += f".unroll({loops[-1]}, 2)"
        loops[-1:] = [f"{loops[-1]}", f"{loops[-1]}_u"]
    return loops, calls


def _fused(
    rng: random.Random, pipeline: Pipeline, paths: dict[str, list[tuple[str, str]]]
) -> list[str]:
    """Two Funcs computed with each other, as far as they share their places."""
    names = [n for n in paths if n not in pipeline.outputs and pipeline.function(n).args]
    if len(names) < 2:
        return []
    one, other = rng.sample(names, 2)
    align = rng.choice(("AlignStart", "AlignEnd", "NoAlign", "Auto"))
    loop = rng.choice(pipeline.function(other).args)
    return [f"{one}.compute_with({other}, {loop}, LoopAlignStrategy::{align});"]
