"""Pipelines of very many outputs are lowered with work that grows as they do."""

from __future__ import annotations

from functools import partial
from itertools import pairwise

from backend.lowering.cpu.passes import lower
from spaces.model.nest.loopnest import loop_nest
from tests.model.test_large_pipelines import asked, at_root, fan


def test_twice_the_outputs_are_lowered_with_twice_the_work(monkeypatch):
    nests = [loop_nest(fan(size), at_root(fan(size))) for size in (15, 30, 60)]
    counts = [asked(monkeypatch, partial(lower, nest)) for nest in nests]
    for small, large in pairwise(counts):
        assert large < 2.5 * small
