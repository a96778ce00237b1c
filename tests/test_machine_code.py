import ctypes
import gc
import subprocess
import sys
import threading

import llvmlite.binding as llvm
import numpy as np
import pytest

from spaces import machine_code
from spaces.machine_code import CompilerBug, compile_module, host_target

SUM = """
define i32 @sum(ptr %values, i64 %count) {
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %total = phi i32 [ 0, %entry ], [ %new, %loop ]
  %place = getelementptr i32, ptr %values, i64 %i
  %value = load i32, ptr %place
  %new = add i32 %total, %value
  %next = add i64 %i, 1
  %more = icmp ult i64 %next, %count
  br i1 %more, label %loop, label %done
done:
  ret i32 %new
}
"""

STRIDED = """
define void @strided(ptr %values, i64 %count, i64 %stride) {
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %index = mul i64 %i, %stride
  %place = getelementptr i32, ptr %values, i64 %index
  store i32 7, ptr %place
  %next = add i64 %i, 1
  %more = icmp ult i64 %next, %count
  br i1 %more, label %loop, label %done
done:
  ret void
}
"""
"""A loop in which LLVM replaces the product by a sum, unless loop strength reduction is off."""

CALLS_OTHER = """
declare i32 @other(i32)
define i32 @twice(i32 %x) {
  %y = call i32 @other(i32 %x)
  %z = call i32 @other(i32 %y)
  ret i32 %z
}
"""

UNARY = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_int32)


def address_of(function: object) -> int:
    address = ctypes.cast(function, ctypes.c_void_p).value
    assert address is not None
    return address


def test_compiled_code_computes():
    values = np.arange(1000, dtype=np.int32)
    with compile_module(SUM) as module:
        total = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_int64)(
            module.address("sum")
        )
        assert total(values.ctypes.data, 1000) == 999 * 1000 // 2


def test_scalar_loops_use_the_vectors_of_the_host():
    with compile_module(SUM) as module:
        assert "x i32> " in module.llvm_ir()


def test_code_calls_what_it_is_given():
    triple = UNARY(lambda x: 3 * x)
    with compile_module(CALLS_OTHER, {"other": address_of(triple)}) as module:
        assert UNARY(module.address("twice"))(5) == 45


def test_code_calls_another_module():
    add_one = "define i32 @other(i32 %x) {\n  %y = add i32 %x, 1\n  ret i32 %y\n}"
    with (
        compile_module(add_one) as inner,
        compile_module(CALLS_OTHER, {"other": inner.address("other")}) as outer,
    ):
        assert UNARY(outer.address("twice"))(5) == 7


def test_the_c_library_needs_no_mention():
    text = """
    declare double @pow(double, double)
    define double @f(double %x, double %y) {
      %z = call double @pow(double %x, double %y)
      ret double %z
    }
    """
    with compile_module(text) as module:
        power = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double, ctypes.c_double)
        assert power(module.address("f"))(3.0, 4.0) == 81.0


def test_constants_lie_within_reach_of_the_code():
    text = """
    @table = internal constant [4 x i32] [i32 11, i32 22, i32 33, i32 44]
    define i32 @at(i32 %i) {
      %place = getelementptr [4 x i32], ptr @table, i32 0, i32 %i
      %value = load i32, ptr %place
      ret i32 %value
    }
    """
    with compile_module(text) as module:
        assert [UNARY(module.address("at"))(i) for i in range(4)] == [11, 22, 33, 44]


def test_listings():
    with compile_module(CALLS_OTHER, {"other": 16}) as module:
        assert "twice:" in module.asm()
        assert "define " in module.llvm_ir()
        code = module.object_bytes()
    assert code.startswith(b"\x7fELF")
    assert b"twice\0" in code


def test_host_target_names_the_machine():
    target = host_target()
    assert target.triple.count("-") >= 2
    assert target.cpu
    assert target.features


def test_text_that_does_not_parse_is_shown_with_its_place():
    lines = [f"  %v{n} = add i32 {n}, 1" for n in range(20)]
    lines[10] = "  %v10 = add i64 %v9, 1"
    text = "\n".join(["define i32 @f() {", *lines, "  ret i32 %v19", "}"])
    with pytest.raises(CompilerBug, match="does not parse") as caught:
        compile_module(text)
    assert "'%v9' defined with type 'i32'" in caught.value.diagnostic
    assert ">    12 |   %v10 = add i64 %v9, 1" in caught.value.excerpt
    assert "%v0 " not in caught.value.excerpt


def test_malformed_code_is_shown_with_its_place():
    text = """define i32 @f(i1 %c) {
entry:
  br i1 %c, label %a, label %b
a:
  %x = add i32 1, 2
  br label %b
b:
  %y = add i32 %x, 1
  ret i32 %y
}"""
    with pytest.raises(CompilerBug, match="does not dominate") as caught:
        compile_module(text)
    assert ">     5 |   %x = add i32 1, 2" in caught.value.excerpt


def test_an_unknown_function_is_named():
    with pytest.raises(CompilerBug, match="other"):
        compile_module(CALLS_OTHER)


def test_an_unknown_intrinsic_does_not_link():
    text = """
    declare void @llvm.spaces.no()
    define void @f() {
      call void @llvm.spaces.no()
      ret void
    }
    """
    with pytest.raises(CompilerBug):
        compile_module(text)


def test_an_unknown_name_has_no_address():
    with compile_module(SUM) as module, pytest.raises(KeyError, match="product"):
        module.address("product")


def test_a_closed_module_has_no_addresses():
    module = compile_module(SUM)
    module.close()
    module.close()
    with pytest.raises(ValueError, match="closed"):
        module.address("sum")


def test_modules_compile_from_several_threads():
    results = []

    def work() -> None:
        for _ in range(10):
            with compile_module(CALLS_OTHER, {"other": abs_address}) as module:
                results.append(UNARY(module.address("twice"))(-3))

    abs_address = address_of(ctypes.CDLL(None).abs)
    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [3] * 30


def test_closing_gives_memory_back():
    def resident_kb() -> int:
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * 4

    def compile_some() -> None:
        for _ in range(30):
            compile_module("define void @f() {\n  ret void\n}").close()

    gc.freeze()  # what other tests left is not looked through
    compile_some()
    gc.collect()
    before = resident_kb()
    compile_some()
    gc.collect()
    assert resident_kb() - before < 30 * 20  # a leaked pass pipeline alone is 57 kB a module


def test_open_modules_do_not_disturb_the_end_of_the_interpreter():
    script = (
        "from spaces.machine_code import compile_module\n"
        "kept = [compile_module('define void @f() {\\n ret void\\n}') for _ in range(3)]\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_others_in_the_process_keep_their_options_of_llvm():
    """While this library emits code without one of LLVM's passes, no other thread generates
    code.
    """

    def emitted() -> bytes:
        with llvm.create_context() as context, llvm.parse_assembly(STRIDED, context) as module:
            return machine_code._machine().emit_object(module)

    expected = emitted()
    with machine_code._emitter() as machine:
        with llvm.create_context() as context, llvm.parse_assembly(STRIDED, context) as module:
            assert machine.emit_object(module) != expected
        found: list[bytes] = []
        other = threading.Thread(target=lambda: found.append(emitted()))
        other.start()
        other.join(timeout=0.2)
        assert not found
    other.join()
    assert found == [expected]
