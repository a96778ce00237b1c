"""Files that are no pipelines of Halide 18 to 21: each ends in a sentence, soon."""

from __future__ import annotations

import struct
import subprocess
import sys
import time
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from attrs import evolve

from spaces import (
    CheckedSchedule,
    DefinitionError,
    HalideFileError,
    HalideImportError,
    HalideProgram,
    Int32,
    compile_cpu,
    device,
    format_schedule,
    read_hlpipe,
    verify,
)
from spaces.backend.halide.file import decoding
from spaces.backend.halide.file.contents import Contents
from spaces.backend.halide.file.decoding import decode
from spaces.backend.halide.file.flat_buffer import FlatBuffer
from spaces.backend.halide.file.nodes import AddNode, IntImmNode
from spaces.backend.halide.file.wire import Ref
from spaces.backend.halide.incoming.foreign import ForeignFacts
from spaces.backend.halide.incoming.names import plain_names
from spaces.backend.halide.incoming.operators import INTRINSICS, INTRINSICS_OF_CONDITIONS
from spaces.backend.halide.incoming.problems import Problems, Unsupported
from spaces.backend.halide.incoming.program import program
from spaces.model.expressions.expr import constant
from tests.differential.quick_code import quick_code
from tests.draw_counts import examples
from tests.halide_programs.damage_counts import Counts, known, write
from tests.halide_programs.hostile import MEGABYTES, SECONDS, megabytes, tried

ROOT = Path(__file__).parents[2]

FILE = Path(__file__).parent / "data" / "blur_of_halide_19.hlpipe"
"""A blur with boundaries, a histogram and a schedule, made by Halide 19.0.0."""

FACTORED = FILE.with_name("rfactor_of_halide_19.hlpipe")
"""Sums over 32 x 8 values: 32 is split by 5, and both the inner loop and the 8 are Vars of the new
Func. Made by Halide 19.0.0.
"""


def with_bytes(data: bytes, old: bytes, new: bytes) -> bytes:
    assert data.count(old) == 1
    return data.replace(old, new)


def test_a_file_of_halide_19_is_read() -> None:
    found = read_hlpipe(FILE)
    assert isinstance(found, HalideProgram)
    assert decode(FILE.read_bytes()).halide_version == "19.0.0"
    assert [f.name for f in found.pipeline.functions] == [
        *("lambda", "repeat_edge", "blur", "h", "out")
    ]
    assert str(found.pipeline.function("blur").stages[1].predicates[0]) == "r.x + r.y < p"
    assert [loop.name for loop in found.schedule.of("out").stages[0].loops] == [
        *("y", "x", "yi", "xi", "xi_v")
    ]


def test_a_reduction_that_halide_19_has_factored_is_read() -> None:
    """Before version 21, Halide writes a split that makes a Var of an RVar."""
    found = read_hlpipe(FACTORED, estimates={"f": [20], "im": [51, 8]})
    pipeline = found.pipeline
    assert [(f.name, f.args) for f in pipeline.functions] == [
        ("f_intm", ("x", "u", "v")),
        ("f", ("x",)),
    ]
    assert format_schedule(found.schedule, pipeline).splitlines() == [
        "f.update(0).unroll(r.x)",
        "f_intm.update(0).vectorize(u, 4).reorder(u_v, u, r.x, v, x).unroll(r.x)",
    ]
    image = np.random.default_rng(3).integers(-99, 99, (8, 51), dtype=np.int32)
    checked = verify(pipeline, found.schedule, device("cpu"))
    assert isinstance(checked, CheckedSchedule), str(checked)
    with quick_code():
        values = compile_cpu(checked)({"im": image})["f"]
    assert values.tolist() == [int(image[:, at : at + 32].sum()) for at in range(20)]


def test_reading_needs_no_halide() -> None:
    code = f"""
import sys
sys.modules["halide"] = None
import spaces
print(spaces.read_hlpipe({str(FILE)!r}).pipeline)
try:
    spaces.from_halide(object())
except ImportError as error:
    print(type(error).__name__)
"""
    run = [sys.executable, "-c", code]
    done = subprocess.run(run, capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout.splitlines() == [
        "<Pipeline out: 5 Funcs, from in to out>",
        "HalideMissingError",
    ]


@pytest.mark.parametrize("data", [b"", b"\0", b"HLDE", bytes(100), b"\xff" * 100, b"# text\n" * 9])
def test_bytes_that_are_no_file_of_halide(data: bytes) -> None:
    with pytest.raises(HalideFileError, match=r"damaged|not a pipeline that Halide"):
        read_hlpipe(data)


def test_other_versions_are_named() -> None:
    newer = with_bytes(FILE.read_bytes(), b"18.0.1", b"21.0.0")
    with pytest.raises(
        HalideFileError, match=r"version '21\.0\.0' .* Halide '19\.0\.0'; .*18\.0\.1"
    ):
        read_hlpipe(newer)


def test_a_file_that_is_cut_off_says_so() -> None:
    data = FILE.read_bytes()
    for size in range(0, len(data) - 1, 97):
        with pytest.raises(HalideFileError, match=r"\.$"):
            read_hlpipe(data[:size])


def chain(depth: int, shared: bool) -> bytes:
    """A sum of ``depth`` additions. The first operand of each is the next one; that of the last is
    a literal. If ``shared``, the second operand is the next one, too.
    """
    vtable = struct.pack("<6H", 12, 14, 4, 6, 5, 10)  # kind and table of both operands
    addition, literal = 7, 1
    empty = struct.pack("<2H", 4, 4)
    parts = [struct.pack("<I", 20), vtable, empty]
    at = 20
    for number in range(depth):
        first = literal if number == depth - 1 else addition
        second = addition if shared and first is addition else 0
        distances = (16 - 6, 16 - 10)  # both operands lie behind this table of 16 bytes
        parts.append(struct.pack("<iBBIIH", at - 4, first, second, *distances, 0))
        at += 16
    parts.append(struct.pack("<i", at - 16) + bytes(12))
    return b"".join(parts)


def test_expressions_may_be_deep() -> None:
    data = chain(20_000, shared=False)
    node = decoding._record(FlatBuffer(data), Ref(FlatBuffer(data).root(), AddNode))
    depth = 0
    while isinstance(node, AddNode):
        node, depth = node.a, depth + 1
    assert depth == 20_000
    assert isinstance(node, IntImmNode)


@pytest.mark.parametrize("more", [0, 1])
def test_as_many_parts_as_a_file_may_have_are_read_soon(more: int) -> None:
    """The literal at the end of a chain is a part, too."""
    buffer = FlatBuffer(chain(decoding.MOST_TABLES - 1 + more, shared=False))
    began = time.process_time()
    if more:
        with pytest.raises(HalideFileError, match="more than 32768 parts"):
            decoding._record(buffer, Ref(buffer.root(), AddNode))
    else:
        assert isinstance(decoding._record(buffer, Ref(buffer.root(), AddNode)), AddNode)
    assert time.process_time() - began < SECONDS


def test_parts_that_two_others_hold_are_refused() -> None:
    """Else 60 additions of a sum to itself would be 2**60 of them."""
    data = chain(60, shared=True)
    with pytest.raises(HalideFileError, match="two parts hold what is at byte"):
        decoding._record(FlatBuffer(data), Ref(FlatBuffer(data).root(), AddNode))


def test_counts_beyond_the_file_are_refused() -> None:
    data = bytearray(FILE.read_bytes())
    buffer = FlatBuffer(bytes(data))
    funcs = buffer.slots(buffer.root(), 1)[0]
    struct.pack_into("<I", data, buffer.target(funcs), 0x7FFFFFFF)
    with pytest.raises(HalideFileError, match="counts 2147483647 elements, more than the"):
        read_hlpipe(bytes(data))


def test_a_vector_read_again_and_again_ends() -> None:
    data = struct.pack("<2I", 4, 1000) + struct.pack("<I", 1) * 1000
    buffer = FlatBuffer(data)
    reads = (buffer.targets(0) for _ in range(10))
    with pytest.raises(HalideFileError, match="again and again"):
        list(reads)


def test_many_problems_are_listed_soon_each_once() -> None:
    problems = Problems("f")
    began = time.process_time()
    with problems.at("value"):
        for number in [*range(20_000), *range(20_000)]:
            problems.add(f"the variable q{number} is unknown there.")
            problems.note(f"The key {number} is left out.")
    assert time.process_time() - began < SECONDS
    assert [one.what for one in problems.error().problems] == [
        f"the variable q{number} is unknown there." for number in range(20_000)
    ]
    assert len(tuple(problems.notes)) == 20_000


def test_many_names_that_are_alike_differ_soon() -> None:
    began = time.process_time()
    names = plain_names(f"f${number}" for number in range(20_000))
    assert time.process_time() - began < SECONDS
    assert [names[f"f${number}"] for number in (0, 1, 2, 19_999)] == ["f", "f_1", "f_2", "f_19999"]
    assert len(set(names.values())) == 20_000


def with_splits(count: int) -> Contents:
    """The blur with so many splits, each of the outer loop of the one before; all inner loops have
    one name.
    """
    contents = decode(FILE.read_bytes())
    place, func = next((n, f) for n, f in enumerate(contents.funcs) if f.name.startswith("out"))
    order = func.init_def.stage_schedule
    split = order.splits[0]
    outer = [split.old_var, *(f"o{number}" for number in range(count - 1)), "last.x"]
    splits = [
        evolve(split, old_var=before, outer=after, inner=f"{before}.i")
        for before, after in pairwise(outer)
    ]
    loops = [outer[-1], *(f"{before}.i" for before in outer[:-1])]
    dims = [evolve(order.dims[0], var=loop, for_type="Serial") for loop in loops]
    rest = [dim for dim in order.dims if dim.var in ("y", "__outermost")]
    order = evolve(order, splits=tuple(splits), dims=(*dims, *rest))
    changed = evolve(func, init_def=evolve(func.init_def, stage_schedule=order))
    funcs = (*contents.funcs[:place], changed, *contents.funcs[place + 1 :])
    return evolve(contents, funcs=funcs)


def test_loops_that_are_alike_get_numbers_and_too_many_are_refused() -> None:
    found = program(with_splits(400), (), None, None, ForeignFacts.of(None, None))
    inner = [split.inner for split in found.schedule.of("out").stages[0].splits]
    assert inner == ["i", *(f"i_{number}" for number in range(1, 400))]
    with pytest.raises(HalideImportError, match="more than 500 loops, splits or prefetches"):
        program(with_splits(501), (), None, None, ForeignFacts.of(None, None))


def test_intrinsics_of_other_operands_are_refused() -> None:
    """A damaged file may say so. The caller makes each of these errors a problem of the file."""
    value = constant(3, Int32)
    for name, maker in {**INTRINSICS, **INTRINSICS_OF_CONDITIONS}.items():
        refused = 0
        for count in range(5):
            try:
                maker(Int32, [value] * count)
            except (Unsupported, DefinitionError, TypeError, OverflowError):
                refused += 1
        assert refused or name == "concat_bits", name
    assert "foreign" not in INTRINSICS


def test_what_was_tried_of_other_files_does_not_count(tmp_path: Path) -> None:
    results, counts = tmp_path / "counts.json", Counts(5)
    counts.add("read", 0.25)
    write(results, counts, 37)
    assert known(results, 5, 37).tried == 1
    assert known(results, 5, 38).tried == known(results, 6, 37).tried == 0


def test_damaged_files_end_in_sentences() -> None:
    before, slowest, endings = megabytes(), 0.0, set[str]()
    for ending, seconds in tried([FILE.read_bytes()], examples(750, fewest=300), seed=1):
        endings.add(ending)
        slowest = max(slowest, seconds)
    assert endings == {"HalideFileError", "HalideImportError", "read"}
    assert slowest < SECONDS
    assert megabytes() - before < MEGABYTES
