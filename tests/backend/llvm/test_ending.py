"""The interpreter ends promptly, whatever its thread pools do."""

import subprocess
import sys
import textwrap

import pytest

PREAMBLE = '''
import ctypes, os, sys, threading, time
from spaces.machine_code import compile_module
from spaces.backend.llvm.runtime.helpers import runtime_symbols
from spaces.backend.llvm.runtime.pools import ThreadPool, default_pool

BODY = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_int32)
RUN = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int32,
                       ctypes.c_int32, ctypes.c_void_p)(runtime_symbols()["spaces_par_for"])
seen = []

@BODY
def body(closure, index):
    seen.append(index)
    return 0

# Native bodies, as in generated code. (A fork while other threads enter the interpreter for the
# first time can hang CPython itself.)
native = compile_module("""
declare i32 @usleep(i32)
define i32 @quick(ptr %c, i32 %i) {
  ret i32 0
}
define i32 @slow(ptr %c, i32 %i) {
  %s = call i32 @usleep(i32 10000)
  ret i32 0
}
""")
quick, slow = native.address("quick"), native.address("slow")

pool = ThreadPool(3)
assert RUN(pool.address, body, 0, 100, None) == 0 and sorted(seen) == list(range(100))
'''


ENDINGS = {
    "idle": "",
    "default pool": "default_pool().address",
    "fresh from work": "RUN(pool.address, body, 0, 100, None)",
    "sys.exit": "sys.exit(0)",
    "used by a daemon thread": """
        threading.Thread(
            target=RUN, args=(pool.address, slow, 0, 10000, None), daemon=True
        ).start()
        time.sleep(0.05)
        """,
    "after a fork": """
        child = os.fork()
        seen.clear()
        assert RUN(pool.address, body, 0, 100, None) == 0 and sorted(seen) == list(range(100))
        if child == 0:
            sys.exit(0)
        assert os.waitpid(child, 0)[1] == 0
        """,
    "after forks while the pool works": """
        ending = []
        def work():
            while not ending:
                RUN(pool.address, quick, 0, 100, None)
        worker = threading.Thread(target=work)
        worker.start()
        for _ in range(20):
            child = os.fork()
            if child == 0:
                # The inherited address, before anybody asks the pool for it again.
                if RUN(pool._address, quick, 0, 100, None):
                    os._exit(1)
                os._exit(RUN(pool.address, quick, 0, 100, None))
            assert os.waitpid(child, 0)[1] == 0
        ending.append(True)
        worker.join()
        """,
}


@pytest.mark.parametrize("ending", ENDINGS)
def test_the_interpreter_ends_promptly(ending):
    script = PREAMBLE + textwrap.dedent(ENDINGS[ending])
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", script],
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
