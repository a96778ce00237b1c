"""Native code that several files of tests call."""

import pytest

from spaces.backend.llvm.runtime.helpers import runtime_symbols
from spaces.machine_code import compile_module
from tests.backend.llvm.loop_bodies import BODIES


@pytest.fixture(scope="module")
def bodies():
    with compile_module(BODIES, runtime_symbols()) as module:
        yield module
