"""Compiles IR text into functions of this process: the one typed entry to LLVM's optimiser and JIT.

Generated pipelines and formulas both become machine code here, so this module knows neither.
llvmlite ships no type annotations. So ``Any`` stands for its objects in this file alone, and in
``blocks``, which builds IR.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from types import TracebackType
from typing import Any, Self, TypeAlias

import llvmlite.binding as llvm
from attrs import frozen
from llvmlite.binding import ffi
from llvmlite.binding.newpassmanagers import NewPassManager

_Ref: TypeAlias = Any
"""An object of llvmlite.binding."""

_EXCERPT_LINES = 4
"""Lines of IR that an error shows before and after the offending line."""


class CompilerBug(Exception):
    """LLVM refused generated IR: a mistake of this library, never of a schedule.

    Attributes:
        diagnostic: LLVM's message.
        excerpt: the numbered lines of IR around the place that the message names; empty if it names
            none.
    """

    def __init__(self, message: str, diagnostic: str, excerpt: str = "") -> None:
        super().__init__("\n".join(part for part in (message, diagnostic, excerpt) if part))
        self.diagnostic = diagnostic
        self.excerpt = excerpt


@frozen
class HostTarget:
    """The processor for which code is generated: the one that this process runs on.

    Attributes:
        triple: architecture, vendor and system, such as ``x86_64-unknown-linux-gnu``.
        cpu: LLVM's name of the processor, such as ``znver5``.
        features: LLVM's feature string, such as ``+avx2,-avx512f``.
        data_layout: LLVM's description of type sizes and alignments.
    """

    triple: str
    cpu: str
    features: str
    data_layout: str


@cache
def _machine() -> _Ref:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    # Position-independent code in the small model: this process links the object, and a C compiler
    # can put it into a shared library too.
    return llvm.Target.from_default_triple().create_target_machine(
        cpu=llvm.get_host_cpu_name(),
        features=llvm.get_host_cpu_features().flatten(),
        opt=3,
        reloc="pic",
        codemodel="default",
    )


@cache
def host_target() -> HostTarget:
    """LLVM's description of the host's processor."""
    machine = _machine()
    return HostTarget(
        triple=machine.triple,
        cpu=llvm.get_host_cpu_name(),
        features=llvm.get_host_cpu_features().flatten(),
        data_layout=str(machine.target_data),
    )


def _numbered(lines: list[str], at: int) -> str:
    first, last = max(0, at - _EXCERPT_LINES), min(len(lines), at + _EXCERPT_LINES + 1)
    return "\n".join(
        f"{'>' if number == at else ' '}{number + 1:6} | {lines[number]}"
        for number in range(first, last)
    )


def _excerpt(ir_text: str, diagnostic: str) -> str:
    """The lines of `ir_text` around the place that `diagnostic` names by number or by quoting."""
    lines = ir_text.splitlines()
    if position := re.search(r"<string>:(\d+):\d+:", diagnostic):
        return _numbered(lines, min(int(position[1]), len(lines)) - 1)
    quoted = [line.strip() for line in diagnostic.splitlines() if line.startswith("  ")]
    for number, line in enumerate(lines):
        if line.strip() in quoted:
            return _numbered(lines, number)
    if (block := re.search(r"in function '?([\w.$-]+)", diagnostic)) is not None:
        for number, line in enumerate(lines):
            if line.startswith("define") and f"@{block[1]}(" in line.replace('"', ""):
                return _numbered(lines, number)
    return ""


def _parse(ir_text: str, context: _Ref) -> _Ref:
    try:
        module = llvm.parse_assembly(ir_text, context)
    except RuntimeError as error:
        diagnostic = str(error).removeprefix("LLVM IR parsing error\n").rstrip()
        raise CompilerBug(
            "The generated LLVM IR does not parse.", diagnostic, _excerpt(ir_text, diagnostic)
        ) from error
    try:
        module.verify()
    except RuntimeError as error:
        module.close()  # before its context, which the caller closes
        diagnostic = str(error).rstrip()
        raise CompilerBug(
            "The generated LLVM IR is malformed.", diagnostic, _excerpt(ir_text, diagnostic)
        ) from error
    target = host_target()
    module.triple = target.triple
    module.data_layout = target.data_layout
    return module


def _optimise(module: _Ref) -> None:
    """Run the O3 pipeline on `module`, in place."""
    options = llvm.create_pipeline_tuning_options(speed_level=3)
    # Vector loops arrive as vectors. Loop vectorization is for scalar loops: remainders, updates,
    # and schedules that vectorize nothing. SLP vectorization stays off: it took a third of the time
    # and made no pipeline faster, because unrolled code is vectorized already.
    options.loop_vectorization = True
    options.slp_vectorization = False
    options.loop_interleaving = True
    options.loop_unrolling = True
    with options, llvm.create_pass_builder(_machine(), options) as builder:
        passes = builder.getModulePassManager()
        try:
            passes.run(module, builder)
        finally:
            # llvmlite 0.50 resolves close() to a base class that frees nothing (57 KB a module).
            NewPassManager._dispose(passes)
            passes.detach()


@contextmanager
def _emitter() -> Iterator[_Ref]:
    """The target machine that emits code of an optimised module, without loop strength reduction.

    Loop strength reduction takes up to a third of the time of a long pipeline and saves nothing
    measurable: invariant indices are already outside of loops. LLVM has no switch for one module.
    Therefore the option is set only while this thread holds the lock of llvmlite, so that no other
    thread of the process generates code with it.
    """
    with ffi.lib._lock:
        llvm.set_option("spaces", "-disable-lsr=true")
        try:
            yield _machine()
        finally:
            llvm.set_option("spaces", "-disable-lsr=false")


def _check_symbols(module: _Ref, symbols: Mapping[str, int]) -> None:
    # The JIT's own error names the functions that need a missing symbol, not the symbol.
    process = ctypes.CDLL(None)
    missing = [
        function.name
        for function in module.functions
        if function.is_declaration
        and not function.name.startswith("llvm.")
        and function.name not in symbols
        and not hasattr(process, function.name)
    ]
    if missing:
        raise CompilerBug(
            "The generated code calls functions that are neither given as symbols nor "
            "in this process.",
            ", ".join(sorted(missing)),
        )


def _exports(module: _Ref) -> list[str]:
    return [
        function.name
        for function in module.functions
        if not function.is_declaration and function.linkage is llvm.Linkage.external
    ]


class CompiledModule:
    """Machine code of one IR module, linked into this process. A context manager.

    Addresses are valid until `close`, or until the last reference to the object goes. The caller
    keeps the object alive while any of its functions may run.
    """

    def __init__(self, object_code: bytes, bitcode: bytes, jit: _Ref, library: _Ref) -> None:
        """Takes ownership of compiled code. Call `compile_module` instead."""
        self._object_code = object_code
        self._bitcode = bitcode
        self._jit = jit
        self._library = library

    def address(self, name: str) -> int:
        """The address of the external function `name`, for ctypes or for other modules.

        Raises:
            KeyError: the module defines no such function.
            ValueError: the module is closed.
        """
        if self._library is None:
            raise ValueError(f"The module is closed, so {name} no longer has an address.")
        try:
            address: int = self._library[name]
        except KeyError:
            raise KeyError(f"The module defines no external function {name}.") from None
        return address

    def llvm_ir(self) -> str:
        """The optimised IR, as text."""
        with llvm.create_context() as context, self._reparse(context) as module:
            return str(module)

    def asm(self) -> str:
        """The machine code as the host's assembly, as text."""
        with (
            llvm.create_context() as context,
            self._reparse(context) as module,
            _emitter() as machine,
        ):
            text: str = machine.emit_assembly(module)
        return text

    def code_bytes(self) -> int:
        """The bytes of its instructions, without data and symbols."""
        parts = llvm.ObjectFileRef.from_data(self._object_code).sections()
        return sum(part.size() for part in parts if part.is_text())

    def object_bytes(self) -> bytes:
        """The linked module as a relocatable object file (ELF); external symbols stay undefined."""
        return self._object_code

    def close(self) -> None:
        """Unload the code. Its addresses become invalid; closing twice is fine."""
        if self._library is not None:
            library, jit = self._library, self._jit
            self._library = self._jit = None
            library.close()
            jit.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _reparse(self, context: _Ref) -> _Ref:
        # Emitting code rewrites a module, so each listing starts from the optimised bitcode.
        return llvm.parse_bitcode(self._bitcode, context)


def _link(object_code: bytes, exports: list[str], symbols: Mapping[str, int]) -> tuple[_Ref, _Ref]:
    # One JIT for each module (0.3 ms): unloading it frees everything. A shared JIT keeps the name
    # of every library for ever.
    jit = llvm.create_lljit_compiler(_machine(), use_jit_link=True, suppress_errors=True)
    request = llvm.JITLibraryBuilder().add_object_img(object_code).add_current_process()
    for name, address in symbols.items():
        request.import_symbol(name, address)
    for name in exports:
        request.export_symbol(name)
    try:
        library = request.link(jit, "module")
    except RuntimeError as error:
        jit.close()
        raise CompilerBug("The generated code does not link.", str(error).rstrip()) from error
    return jit, library


def compile_module(ir_text: str, symbols: Mapping[str, int] | None = None) -> CompiledModule:
    """Verify `ir_text`, optimise it for the host (O3) and link it into this process.

    Args:
        ir_text: an LLVM 22 module as text. The host's triple and data layout replace those in the
            text.
        symbols: addresses of external functions by name; only those that the code calls are read.
            The linker looks for others in the process, so libc and libm need no mention.

    Raises:
        CompilerBug: the text does not parse, is malformed, or calls an unknown function.
    """
    given = symbols or {}
    with llvm.create_context() as context, _parse(ir_text, context) as module:
        _optimise(module)
        _check_symbols(module, given)
        exports = _exports(module)
        called = {f.name: given[f.name] for f in module.functions if f.name in given}
        bitcode = module.as_bitcode()
        with _emitter() as machine:
            object_code = machine.emit_object(module)
    jit, library = _link(object_code, exports, called)
    return CompiledModule(object_code, bitcode, jit, library)


def object_of(*ir_texts: str) -> bytes:
    """One relocatable object file of several modules, optimised together for the host.

    Raises:
        CompilerBug: a text does not parse or is malformed.
    """
    _machine()
    with llvm.create_context() as context, _parse(ir_texts[0], context) as module:
        for text in ir_texts[1:]:
            module.link_in(_parse(text, context))
        _optimise(module)
        object_code: bytes = _machine().emit_object(module)
    return object_code
