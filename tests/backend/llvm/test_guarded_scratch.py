"""The reads and writes of scratch memory by compiled code."""

import ctypes
import faulthandler
import os
import signal

import numpy as np
import pytest

from spaces import Func, ImageParam, UInt8, Var, device, pipeline, schedule, verify
from spaces.machine_code import compile_module
from tests.backend.llvm import guarded_scratch
from tests.backend.llvm.guarded_scratch import Rubbish, compile_guarded, poisoned, run_poisoned

# One store or load at byte %at of a block of 100 bytes.
TOUCH = """
declare ptr @spaces_malloc(i64)
declare void @spaces_free(ptr)
define i8 @touch(i64 %at, i32 %write) {
  %block = call ptr @spaces_malloc(i64 100)
  %place = getelementptr i8, ptr %block, i64 %at
  %found = load volatile i8, ptr %place
  %w = icmp ne i32 %write, 0
  br i1 %w, label %store, label %end
store:
  store volatile i8 7, ptr %place
  br label %end
end:
  call void @spaces_free(ptr %block)
  ret i8 %found
}
"""


def touch(at, write):
    code = compile_module(TOUCH, guarded_scratch._symbols())
    call = ctypes.CFUNCTYPE(ctypes.c_uint8, ctypes.c_int64, ctypes.c_int32)(code.address("touch"))
    return call(at, write)


def ends_with(at):
    """The exit code of a fork of this process that touches a byte."""
    pid = os.fork()
    if pid == 0:
        faulthandler.disable()
        touch(at, write=False)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def test_memory_that_is_not_written_reads_as_poison():
    for value in (0x00, 0xFF):
        with poisoned(value):
            assert touch(99, write=False) == value


def test_a_write_behind_the_end_is_noticed():
    with pytest.raises(Rubbish, match="behind the end"), poisoned(0xFF):
        touch(100, write=True)
    with poisoned(0xFF):
        touch(99, write=True)


def test_an_access_beyond_the_alignment_traps():
    assert ends_with(127) == 0
    assert ends_with(128) == -signal.SIGSEGV


def test_a_pipeline_gives_the_same_whatever_its_memory_holds():
    x, y = Var("x"), Var("y")
    image = ImageParam(UInt8, 2, "image")
    blur, out = Func("blur"), Func("out")
    blur[x, y] = image[x, y] + image[x + 1, y]
    out[x, y] = blur[x, y] + blur[x, y + 1]
    made = pipeline(out)
    chosen = schedule(made).func("blur").compute_root().schedule
    compiled = compile_guarded(verify(made, chosen, device("cpu")))
    pixels = np.arange(30 * 21, dtype=np.uint8).reshape(21, 30)
    found = run_poisoned(compiled, {"image": pixels}, sizes={"out": (29, 20)})
    rows = pixels[:, :-1] + pixels[:, 1:]
    np.testing.assert_array_equal(found["out"], rows[:-1] + rows[1:])
