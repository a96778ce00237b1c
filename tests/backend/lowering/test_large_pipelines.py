"""Pipelines of very many outputs: the work of lowering grows linearly with the outputs."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from itertools import pairwise
from types import FrameType

import pytest

from spaces import AccessMode, FloatMode, Func, ImageParam, Int32, loop_nest, pipeline
from spaces.backend.ir.text import program_text
from spaces.backend.llvm.codegen import llvm_module
from spaces.backend.lowering.cpu.passes import lower
from spaces.model.recursion import deeper
from tests.model.algorithm.test_large_pipelines import X, asked, at_root, fan


def test_twice_the_outputs_are_lowered_with_twice_the_work(monkeypatch):
    nests = [loop_nest(fan(size), at_root(fan(size))) for size in (15, 30, 60)]
    counts = [asked(monkeypatch, partial(lower, nest)) for nest in nests]
    for small, large in pairwise(counts):
        assert large < 2.5 * small


@contextmanager
def few_nested_calls(number: int) -> Iterator[None]:
    """Limits nested Python calls to the current depth plus ``number``."""
    before, depth = sys.getrecursionlimit(), 0
    frame: FrameType | None = sys._getframe()
    while frame is not None:
        frame, depth = frame.f_back, depth + 1
    sys.setrecursionlimit(depth + number)
    try:
        yield
        assert sys.getrecursionlimit() == depth + number
    finally:
        sys.setrecursionlimit(before)


def test_storage_nests_deeper_than_calls_may():
    """The storage of each Func at root is around the Func that reads it."""
    stages: list[ImageParam | Func] = [ImageParam(Int32, 1, "input")]
    for number in range(80):
        stages.append(Func(f"s{number}"))
        stages[-1][X] = stages[-2][X] + stages[max(0, number - 3)][X]
    algorithm = pipeline(stages[-1])
    nest = loop_nest(algorithm, at_root(algorithm))
    expected = list(map(program_text, lower(nest).values()))
    with few_nested_calls(200):
        programs = lower(nest)
        assert list(map(program_text, programs.values())) == expected
        llvm_module(list(programs.values())[-1], FloatMode.STRICT, AccessMode.PLAIN)


def test_deep_calls_keep_their_errors_and_what_they_return():
    def descend(levels: int) -> int:
        return 1 + deeper(descend, levels - 1) if levels else 1 // (levels - bottom)

    bottom = 1
    assert descend(2000) == 1999
    bottom = 0
    with pytest.raises(ZeroDivisionError):
        descend(2000)
