"""A lowered program as LLVM IR text.

The module defines ``i32 run_NAME(ptr pool, ptr arguments)``. ``arguments`` are 64-bit words: for
each buffer its address and then min, extent and stride of each dimension; then each scalar (a float
as its bits). The function returns a status:

- 0: success;
- the number, counted from 1, of the first size check that does not hold, or of the message of a
  failed assert; messages are numbered after the size checks;
- :data:`~spaces.backend.llvm.module.OUT_OF_MEMORY` or
  :data:`~spaces.backend.llvm.module.ILL_SIZED`;
- in hardened code, :data:`~spaces.backend.llvm.accesses.OUTSIDE`.
"""

from __future__ import annotations

import re

from attrs import evolve

from spaces.backend.access import AccessMode
from spaces.backend.ir.program import LoopProgram
from spaces.backend.ir.walk import messages
from spaces.backend.llvm.accesses import access_words
from spaces.backend.llvm.alias import LoopHint
from spaces.backend.llvm.module import FunctionEmitter, Module
from spaces.backend.llvm.operators import FloatMode
from spaces.backend.llvm.runtime.blocks import POINTER, Value
from spaces.backend.llvm.statements import Statements
from spaces.backend.llvm.words import Words
from spaces.model.expressions.types import Int32


def identifier(name: str) -> str:
    """The name of a pipeline, buffer or scalar as a C identifier."""
    return re.sub(r"\W", "_", name, flags=re.ASCII)


def entry_name(pipeline: str) -> str:
    """The name of the function that the module of a pipeline exports."""
    return f"run_{identifier(pipeline)}"


def report_words(program: LoopProgram, access_mode: AccessMode = AccessMode.PLAIN) -> int:
    """The number of words for a report: the status and the values of a message, or an access. 0 if
    the program reports nothing.
    """
    most = max((len(m.types) for m in messages(program.body)), default=0)
    values = most + 1 if most else 0
    if access_mode is AccessMode.HARDENED:
        return max(values, access_words(program))
    return values


def llvm_module(
    program: LoopProgram,
    float_mode: FloatMode = FloatMode.STRICT,
    access_mode: AccessMode = AccessMode.PLAIN,
) -> str:
    """The IR of a program after all lowering passes."""
    module = Module(program, float_mode, access_mode)
    _entry(module, program)
    if module.counters.table.words:
        module.counters.export(entry_name(program.name))
    return f"{module.module}\n{LoopHint.text()}"


def _entry(module: Module, program: LoopProgram) -> None:
    """Emits the function that callers call."""
    function = module.define(entry_name(program.name), POINTER, POINTER)
    emitter = evolve(FunctionEmitter.begin(module, function), pool=function.args[0])
    words = Words(emitter.entry.builder, function.args[1])
    buffers: dict[str, Value] = {}
    variables: dict[str, Value] = {}
    for buffer in program.buffers:
        buffers[buffer.name] = words.pointer()
        for d in range(buffer.dimensions):
            for part in ("min", "extent", "stride"):
                variables[f"{buffer.name}.{part}.{d}"] = words.scalar(Int32)
        emitter.accesses.given(buffer, buffers[buffer.name], variables)
    for parameter in program.scalars:
        variables[parameter.name] = words.scalar(parameter.type)
    if report_words(program, module.access_mode):
        emitter = evolve(emitter, report=words.pointer())
    statements = Statements(emitter, emitter.values(variables, buffers))
    for buffer in program.buffers:
        statements.dimensions(buffer)
    statements.size_checks(program)
    statements.body(program.body)
