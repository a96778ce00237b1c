"""Pipelines and the runtime compile for aarch64, on whatever processor the tests run."""

from __future__ import annotations

import struct
from collections.abc import Iterator

import llvmlite.binding as llvm
import pytest

from spaces import AccessMode, FloatMode, loop_nest, machine_code, parse_schedule
from spaces.apps.catalog import find
from spaces.backend.llvm import instructions
from spaces.backend.llvm.codegen import llvm_module
from spaces.backend.llvm.runtime.scratch import scratch_module
from spaces.backend.llvm.runtime.workers import pool_module
from spaces.backend.lowering.cpu.passes import lower
from spaces.machine_code import HostTarget, object_of

TRIPLE = "aarch64-unknown-linux-gnu"
AARCH64 = 183
"""The number of the architecture in the header of an ELF file."""


@pytest.fixture
def on_aarch64(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    try:
        target = llvm.Target.from_triple(TRIPLE)
    except RuntimeError as error:
        pytest.skip(f"this LLVM has no aarch64: {error}")
    machine = target.create_target_machine(
        cpu="neoverse-n1", features="", opt=3, reloc="pic", codemodel="default"
    )
    host = HostTarget(machine.triple, "neoverse-n1", "+neon", str(machine.target_data))
    monkeypatch.setattr(machine_code, "_machine", lambda: machine)
    monkeypatch.setattr(machine_code, "host_target", lambda: host)
    monkeypatch.setattr(instructions, "host_target", lambda: host)
    instructions._features.cache_clear()
    yield
    instructions._features.cache_clear()


@pytest.mark.usefixtures("on_aarch64")
@pytest.mark.parametrize("app", ["blur", "unsharp", "hist"])
def test_hand_schedules_compile(app: str) -> None:
    found = find(app)
    pipeline = found.pipeline()
    schedule = parse_schedule(found.schedules["cpu"].read_text(), pipeline)
    program = list(lower(loop_nest(pipeline, schedule)).values())[-1]
    text = llvm_module(program, FloatMode.STRICT, AccessMode.PLAIN)
    code = object_of(text, pool_module("aarch64"), scratch_module())
    assert code[:4] == b"\x7fELF"
    assert struct.unpack_from("<H", code, 18) == (AARCH64,)
