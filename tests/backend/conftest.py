"""Native code that several files of tests call, and how tests make theirs."""

from collections.abc import Iterator
from unittest import mock

import pytest

from spaces.backend.cuda import emulator
from spaces.backend.llvm.runtime.helpers import pool_code, runtime_symbols
from spaces.machine_code import compile_module
from tests.backend.llvm.loop_bodies import BODIES
from tests.differential.quick_code import quick_code
from tests.precompiled import UNOPTIMISED


@pytest.fixture(scope="module")
def bodies():
    with compile_module(BODIES, runtime_symbols()) as module:
        yield module


@pytest.fixture(autouse=True)
def _quickly(request: pytest.FixtureRequest) -> Iterator[None]:
    """Without the optimisers of LLVM and of g++, unless a test is marked ``optimised``: most are
    about what a lowering computes. Small runs of all apps, random pipelines, every operator and the
    tests of the printers show what an optimiser makes of a text.
    """
    pool_code()  # the runtime, which stays, is made as for a user
    runtime_symbols()
    if "optimised" in request.keywords:
        yield
    else:
        with quick_code(), mock.patch.object(emulator, "_FLAGS", UNOPTIMISED):
            yield
