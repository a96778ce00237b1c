"""The comparison of machine code with Halide's."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("halide", reason="the extra `halide` is not installed")

from bench import gpu_static, sass
from bench.gpu_static import COMPARED, HALIDE, HALIDE_STRICT, OURS, OURS_FAST
from spaces.backend.cuda.errors import CudaCompileError, CudaUnavailable

LISTING = """\
\t.section\t.text.second,"ax",@progbits
.text.second:
        /*0000*/                   LDC R1, c[0x0][0x28] ;
        /*0010*/              @!P0 BRA `(.L_x_0) ;
        /*0020*/              @UP1 ULDC.64 UR4, c[0x0][0x208] ;
.L_x_0:
        /*0030*/                   EXIT ;
.L_x_1:
        /*0040*/                   BRA `(.L_x_1);
        /*0050*/                   NOP;
//--------------------- .text.first          --------------------------
\t.section\t.text.first,"ax",@progbits
.text.first:
        /*0000*/                   LDC.64 R2, c[0x0][0x210] ;
        /*0010*/                   LDC R1, c[0x0][0x28] ;
        /*0020*/              @P0  EXIT ;
"""

PTX = """\
.version 7.0
.target sm_80
.address_size 64
.visible .entry one(.param .u64 at) {
    .reg .b64 %rd<3>;
    ld.param.u64 %rd1, [at];
    cvta.to.global.u64 %rd2, %rd1;
    st.global.b64 [%rd2], %rd1;
    ret;
}
"""


def test_instructions_are_counted_by_kernel_without_padding() -> None:
    counts = dict(sass._instructions(LISTING))
    assert counts["second"] == {"LDC": 1, "BRA": 2, "ULDC": 1, "EXIT": 1}
    assert counts["first"] == {"LDC": 2, "EXIT": 1}


def test_ptx_becomes_machine_code() -> None:
    try:
        code = sass.assembled(PTX, "sm_90")
    except CudaUnavailable as missing:
        pytest.skip(str(missing))
    (kernel,) = code.kernels.values()
    assert kernel.instructions["STG"] == kernel.instructions["EXIT"] == 1
    assert kernel.size < 16 < code.cubin_bytes
    assert kernel.resources.spill_store_bytes == 0
    with pytest.raises(CudaCompileError, match="ptxas fails"):
        sass.assembled(PTX.replace("ret;", "return;"), "sm_90")


def test_a_missing_program_says_how_to_get_it() -> None:
    with pytest.raises(CudaUnavailable, match=r"pip install '\.\[cuda-static\]'"):
        sass.path_of("ptxas-of-nobody")


def test_nothing_is_measured_where_a_program_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Results that stand in a file are worth more than a table of failures."""
    monkeypatch.setattr(gpu_static, "PROGRAMS", ("ptxas-of-nobody",))
    with pytest.raises(CudaUnavailable, match="ptxas-of-nobody"):
        gpu_static.measure()


def side(instructions: int) -> dict[str, Any]:
    kernels = {"kernel": {"instructions": instructions}}
    numbers = {"registers": 32, "spilled": 0, "cubin_bytes": 4096}
    return {"instructions": instructions, "kernels": kernels, **numbers}


def test_the_table_says_what_fails_and_what_is_above_the_target() -> None:
    apps = {
        "a": {OURS: side(100), OURS_FAST: side(50), HALIDE: side(50), HALIDE_STRICT: side(200)},
        "b": {OURS: side(50), OURS_FAST: side(50), HALIDE: side(100), HALIDE_STRICT: {}},
        "c": {OURS: side(9), OURS_FAST: side(9), HALIDE: {"failed": "It refuses."}},
    }
    for found in apps.values():
        for pair in COMPARED.values():
            for one in pair:
                found[one] = found.get(one) or {"failed": "out of time"}
    over = gpu_static.over_all(apps)
    assert over["default"] == {"apps": 2, "mean": 1.0, "largest": 2.0, "above": ["a"]}
    assert over["strict"] == {"apps": 1, "mean": 0.5, "largest": 0.5, "above": []}
    assert over["fast"]["mean"] == round(0.5**0.5, 3)
    headers, rows = gpu_static.table({"apps": apps, "over_halide": over})
    a, b, c, means = (dict(zip(headers, row, strict=True)) for row in rows)
    assert (a["default: ratio"], a["strict: ratio"], a["bytes"]) == ("2.00", "0.50", "4096 / 4096")
    assert (b["default: ratio"], b["strict: ratio"], b["fast: ratio"]) == ("0.50", "", "0.50")
    assert (c[HALIDE], c[OURS], c["default: ratio"], c["registers"]) == ("failed", 9, "", "32 / ")
    assert (means["default: ratio"], means["strict: ratio"]) == ("1.00 of 2", "0.50 of 1")


SOURCE = """\
    for (int x = 0; x < 4; ++x) {
        #pragma unroll
        for (int y = 0; y < 4; ++y) {
        }
    }
"""


def test_only_loops_that_the_schedule_unrolls_are_unrolled() -> None:
    first, *rest = gpu_static.rolled(SOURCE).splitlines()
    assert first == "#pragma unroll 1"
    assert rest == SOURCE.splitlines()
    text = "$L__BB0_1:   // a loop\n\tadd.s32 %r1, %r1, 1;\n\t@%p1 bra $L__BB0_1;\n"
    label, request, *after = gpu_static.rolled_ptx(text).splitlines()
    assert [label, *after] == text.splitlines()
    assert request == '\t.pragma "nounroll";'


def test_what_does_not_compile_is_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(app: str) -> str:
        raise CudaUnavailable(f"{app} needs something that is missing")

    with pytest.raises(ValueError, match="blur needs something"):
        gpu_static._described(missing, "blur")
