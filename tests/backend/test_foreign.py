"""Funcs that foreign code computes: C functions and Python callables."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from spaces import (
    Bool,
    CheckedSchedule,
    DefinitionError,
    Float32,
    ForeignArray,
    ForeignCodeError,
    Func,
    HalideImportError,
    ImageParam,
    Int8,
    Int32,
    Options,
    Param,
    Pipeline,
    Schedule,
    ScheduleSpace,
    UInt16,
    UInt64,
    Var,
    apply,
    compile_cpu,
    device,
    from_halide,
    from_json,
    halide_source,
    loop_nest,
    parse_schedule,
    pipeline,
    prove,
    read_hlpipe,
    to_halide,
    to_json,
    verify,
)
from spaces.backend.access import AccessMode
from spaces.backend.reference.evaluation import evaluate
from spaces.backend.replay.run import replay_nest
from spaces.model.algorithm.foreign import foreign_code, know_callable
from spaces.model.formulas.algebra import evaluate as number
from spaces.model.writing.serialize import DocumentError
from tests.differential.quick_code import quick_code

CPU = device("cpu")
X, Y = Var("x"), Var("y")
IMAGE = np.random.default_rng(5).integers(0, 9999, (19, 34), dtype=np.uint16)
SIZES = {"image": [(-1, 34), (0, 19)]}

calls: list[tuple[tuple[int, int], tuple[int, ...]]] = []


def mean_of_three(source: ForeignArray, out: ForeignArray) -> None:
    calls.append((out.min, out.array.shape))
    height, width = out.array.shape
    (first, top) = out.min
    rows = source.box((first - 1, width + 2), (top, height)).astype(np.uint32)
    out.array[...] = (rows[:, :-2] + rows[:, 1:-1] + rows[:, 2:]) // 3


def filtered(code: object, width: int = 32, height: int = 18) -> Pipeline:
    image = ImageParam(UInt16, 2, "image")
    twice, mean, both = Func("twice"), Func("mean"), Func("both")
    twice[X, Y] = image[X, Y] * 2
    mean.define_extern(code, [twice], UInt16, [X, Y], needs=[[(X - 1, X + 1), (Y, Y)]])
    both[X, Y] = mean[X, Y] + mean[X, Y + 1]
    sizes = {image: [(-1, width + 2), (0, height + 1)], both: [width, height]}
    return pipeline(both, estimates=sizes)


def wanted() -> np.ndarray:
    twice = IMAGE.astype(np.uint32) * 2
    mean = (twice[:, :-2] + twice[:, 1:-1] + twice[:, 2:]) // 3
    return (mean[:-1] + mean[1:]).astype(np.uint16)


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("", 1),
        ("both.split(y, yo, yi, 6).parallel(yo)\nmean.compute_at(both, yo)", 3),
        (
            "both.tile(x, y, xi, yi, 16, 3).vectorize(xi, 8)\nmean.compute_at(both, yi)"
            ".reorder_storage(y, x)\ntwice.compute_at(both, x).align_storage(x, 32)",
            36,
        ),
    ],
)
@pytest.mark.parametrize("mode", AccessMode)
def test_one_call_computes_a_box(text: str, count: int, mode: AccessMode) -> None:
    algorithm = filtered(mean_of_three)
    checked = verify(algorithm, parse_schedule(text, algorithm), CPU)
    assert checked, str(checked)
    with quick_code():
        compiled = compile_cpu(checked, access_mode=mode)
    calls.clear()
    found = compiled({"image": IMAGE}, sizes=SIZES)["both"]
    assert (found == wanted()).all()
    assert len(calls) == count


def test_the_reference_calls_python() -> None:
    algorithm = filtered(mean_of_three)
    calls.clear()
    found = evaluate(algorithm, {"image": IMAGE}, sizes=SIZES)
    assert (found["both"] == wanted()).all()
    assert calls == [((0, 0), (19, 32))]


def test_what_is_stated_bounds_and_proves() -> None:
    algorithm = filtered(mean_of_three)
    checked = verify(algorithm, Schedule.default(algorithm), CPU)
    assert isinstance(checked, CheckedSchedule)
    assert str(prove(checked)).endswith("proven.")
    for last, rules in ((X + 1, set()), (X + 2, {"bounds.impossible-estimates"})):
        image, out = ImageParam(UInt16, 2, "image"), Func("out")
        out.define_extern(mean_of_three, [image], UInt16, [X, Y], needs=[[(X - 1, last), (Y, Y)]])
        sized = pipeline(out, estimates={out: [32, 18], image: [(-1, 34), (0, 18)]})
        found = verify(sized, Schedule.default(sized), CPU)
        assert rules <= {violation.rule for violation in getattr(found, "violations", ())}
        assert bool(found) is not bool(rules)


def test_a_tuple_is_filled_by_one_call() -> None:
    def halves(source: ForeignArray, whole: ForeignArray, half: ForeignArray) -> None:
        height, width = whole.array.shape
        values = source.box((whole.min[0], width), (whole.min[1], height))
        whole.array[...] = values + 1
        half.array[...] = values * np.float32(0.5)

    image, out = ImageParam(UInt16, 2, "image"), Func("out")
    out.define_extern(halves, [image], (UInt16, Float32), [X, Y])
    algorithm = pipeline(out, estimates={out: [34, 19], image: [34, 19]})
    with quick_code():
        found = compile_cpu(verify(algorithm, Schedule.default(algorithm), CPU))({"image": IMAGE})
    assert (found["out.0"] == IMAGE + 1).all()
    assert (found["out.1"] == IMAGE * np.float32(0.5)).all()
    expected = evaluate(algorithm, {"image": IMAGE})
    assert all((found[name] == values).all() for name, values in expected.items())


def test_what_code_raises_ends_the_run() -> None:
    def fail(source: ForeignArray, out: ForeignArray) -> None:
        source.box((0, 99), (0, 1))

    algorithm = filtered(fail)
    text = "both.parallel(y)\nmean.compute_at(both, y)"
    with quick_code():
        compiled = compile_cpu(verify(algorithm, parse_schedule(text, algorithm), CPU))
    with pytest.raises(ForeignCodeError, match="pipeline both raises IndexError: 0 ") as error:
        compiled({"image": IMAGE}, sizes=SIZES)
    assert isinstance(error.value.__cause__, IndexError)


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A C library, loaded into this process, with the function ``spaces_test_mean``."""
    if shutil.which("gcc") is None:
        pytest.skip("a C compiler is needed")
    folder: Path = tmp_path_factory.mktemp("foreign")
    (folder / "mean.c").write_text(C_SOURCE)
    build = ["gcc", "-shared", "-fPIC", "mean.c", "-o", "mean.so"]
    subprocess.run(build, cwd=folder, check=True)
    ctypes.CDLL(str(folder / "mean.so"), mode=ctypes.RTLD_GLOBAL)
    return "spaces_test_mean"


C_SOURCE = """
#include <stdint.h>
typedef struct { int32_t min, extent, stride; uint32_t flags; } dim_t;
typedef struct {
    uint64_t device; const void *interface; uint8_t *host; uint64_t flags;
    uint8_t code, bits; uint16_t lanes; int32_t dimensions; dim_t *dim; void *padding;
} buffer_t;

int spaces_test_mean(buffer_t *in, buffer_t *out) {
    const dim_t *ix = in->dim, *iy = in->dim + 1, *ox = out->dim, *oy = out->dim + 1;
    if (!in->host) {  /* Halide asks what it needs */
        in->dim[0].min = ox->min - 1;
        in->dim[0].extent = ox->extent + 2;
        in->dim[1] = *oy;
        return 0;
    }
    if (in->code != 1 || in->bits != 16 || in->dimensions != 2) return 1;
    for (int y = oy->min; y < oy->min + oy->extent; y++)
        for (int x = ox->min; x < ox->min + ox->extent; x++) {
            const uint16_t *row = (uint16_t *)in->host + (y - iy->min) * iy->stride - ix->min;
            uint16_t *to = (uint16_t *)out->host + (y - oy->min) * oy->stride;
            to[(x - ox->min) * ox->stride] = (row[x - 1] + row[x] + row[x + 1]) / 3;
        }
    return 0;
}

int spaces_test_weighted(int8_t shift, buffer_t *in, float weight, _Bool negative, buffer_t *out) {
    if (!in->host) {
        in->dim[0] = out->dim[0];
        in->dim[1] = out->dim[1];
        return 0;
    }
    for (int y = 0; y < out->dim[1].extent; y++)
        for (int x = 0; x < out->dim[0].extent; x++) {
            const int ix = x + out->dim[0].min - in->dim[0].min;
            const int iy = y + out->dim[1].min - in->dim[1].min;
            const int value = ((uint16_t *)in->host)[iy * in->dim[1].stride + ix] * weight;
            ((int32_t *)out->host)[y * out->dim[1].stride + x] =
                (negative ? -value : value) + shift;
        }
    return 0;
}
"""


def weighted(code: object) -> Pipeline:
    """Two scalars stand around the image; the first is negative in calls."""
    image, shift, negative = (
        ImageParam(UInt16, 2, "image"),
        Param(Int8, "shift"),
        Param(Bool, "negative"),
    )
    twice, out = Func("twice"), Func("out")
    twice[X, Y] = image[X, Y] * 2
    out.define_extern(code, [shift, twice, 0.25, negative], Int32, [X, Y], cycles=7)
    return pipeline(out, estimates={image: [34, 19], out: [32, 18]})


@pytest.mark.parametrize("negative", [False, True])
def test_a_c_function_takes_scalars(library: str, negative: bool) -> None:
    algorithm = weighted("spaces_test_weighted")
    with quick_code():
        compiled = compile_cpu(verify(algorithm, Schedule.default(algorithm), CPU))
    params = {"shift": -5, "negative": negative}
    found = compiled({"image": IMAGE}, params, sizes={"out": [30, 17]})["out"]
    value = IMAGE[:17, :30].astype(np.int32) // 2
    assert (found == (-value if negative else value) - 5).all()


def test_a_callable_takes_scalars() -> None:
    given: list[tuple[object, ...]] = []

    def code(wide: int, source: ForeignArray, half: float, width: int, out: ForeignArray) -> None:
        given.append((wide, half, width))
        out.array[...] = source.array

    image, gain, wide = (
        ImageParam(UInt16, 2, "image"),
        Param(Float32, "gain"),
        Param(UInt64, "wide"),
    )
    out = Func("out")
    out.define_extern(code, [wide, image, gain / 2, image.width()], UInt16, [X, Y])
    algorithm = pipeline(out, estimates={out: [34, 19], image: [34, 19]})
    params = {"gain": 5.0, "wide": 2**63 + 1}
    with quick_code():
        compile_cpu(verify(algorithm, Schedule.default(algorithm), CPU))({"image": IMAGE}, params)
    evaluate(algorithm, {"image": IMAGE}, params)
    assert given == [(2**63 + 1, 2.5, 34)] * 2


def test_scalars_and_costs_are_in_documents() -> None:
    algorithm = weighted("code")
    text = to_json(algorithm)
    assert from_json(text, Pipeline) == algorithm
    code = foreign_code(algorithm.function("out").stages[0].values)
    assert code is not None
    assert [str(one) for one in code.arguments] == ["shift", "twice", "0.25", "negative"]
    assert (code.inputs, code.cycles) == (("twice",), 7.0)
    assert [scalar.name for scalar in algorithm.scalars] == ["shift", "negative"]
    assert text.count('"const": 7.0') == 1
    negative = text.replace('"const": 7.0', '"const": -7.0')
    with pytest.raises(DocumentError, match="does not say which foreign code"):
        from_json(negative, Pipeline)


def test_a_c_function_gets_buffers_of_halide(library: str) -> None:
    algorithm = filtered(library)
    text = "both.split(y, yo, yi, 6).parallel(yo)\nmean.compute_at(both, yo).reorder_storage(y, x)"
    with quick_code():
        compiled = compile_cpu(verify(algorithm, parse_schedule(text, algorithm), CPU))
    assert (compiled({"image": IMAGE}, sizes=SIZES)["both"] == wanted()).all()
    unknown = filtered("spaces_test_no_such_function")
    with pytest.raises(ForeignCodeError, match="no C function spaces_test_no_such_function, which"):
        compile_cpu(verify(unknown, Schedule.default(unknown), CPU))


def test_halide_calls_the_same_function(library: str) -> None:
    hl = pytest.importorskip("halide", reason="Halide's Python package is not installed")

    def funcs():
        x, y = hl.Var("x"), hl.Var("y")
        image = hl.ImageParam(hl.UInt(16), 2, "image")
        twice, mean, both = hl.Func("twice"), hl.Func("mean"), hl.Func("both")
        twice[x, y] = image[x, y] * hl.u16(2)
        given = [hl.ExternFuncArgument(twice)]
        mean.define_extern(library, given, hl.UInt(16), [x, y], hl.NameMangling.C)
        both[x, y] = mean[x, y] + mean[x, y + 1]
        return image, both

    image, both = funcs()
    needs = {"mean": lambda x, y: [[(x - 1, x + 1), (y, y)]]}
    estimates = {"both": [32, 18], "image": SIZES["image"]}
    program = from_halide(both, estimates=estimates, needs=needs)
    assert program.pipeline == filtered(library)
    assert program.scheduled == ()
    text = (
        "both.split(y, yo, yi, 6).parallel(yo)\nmean.compute_at(both, yo)\n"
        "twice.compute_at(both, yo)"
    )
    schedule = parse_schedule(text, program.pipeline)
    applied = apply(schedule, both, needs=needs)
    assert applied.schedule == schedule
    held = hl.Buffer(IMAGE)
    held.set_min([-1, 0])
    image.set(held)
    assert (np.array(both.realize([32, 18])) == wanted()).all()
    data = hl.serialize_pipeline(hl.Pipeline([both]))
    filed = read_hlpipe(data, estimates=estimates, needs=needs)
    assert (filed.pipeline, filed.schedule) == (program.pipeline, schedule)
    back = from_halide(to_halide(filed.pipeline, schedule).pipeline, needs=needs)
    assert (back.pipeline, back.schedule) == (program.pipeline, schedule)
    with pytest.raises(HalideImportError, match=r"give needs=\{'mean': \.\.\.\}"):
        read_hlpipe(data)


def test_scalars_come_from_halide_and_go_there(library: str) -> None:
    hl = pytest.importorskip("halide", reason="Halide's Python package is not installed")
    x, y = hl.Var("x"), hl.Var("y")
    image = hl.ImageParam(hl.UInt(16), 2, "image")
    shift, negative = hl.Param(hl.Int(8), "shift"), hl.Param(hl.Bool(), "negative")
    twice, out = hl.Func("twice"), hl.Func("out")
    twice[x, y] = image[x, y] * hl.u16(2)
    given = [
        hl.ExternFuncArgument(one)
        for one in (hl.Expr(shift), twice, hl.f32(0.25), hl.Expr(negative))
    ]
    out.define_extern("spaces_test_weighted", given, hl.Int(32), [x, y], hl.NameMangling.C)
    twice.compute_root()
    known = {"needs": {"out": lambda x, y: [None]}, "cycles": {"out": 7}}
    estimates = {"out": [32, 18], "image": [34, 19]}
    program = from_halide(out, estimates=estimates, **known)
    assert program.pipeline == weighted("spaces_test_weighted")
    assert apply(program.schedule, out, **known).schedule == program.schedule
    data = hl.serialize_pipeline(hl.Pipeline([out]))
    filed = read_hlpipe(data, estimates=estimates, **known)
    assert (filed.pipeline, filed.schedule) == (program.pipeline, program.schedule)
    made = to_halide(filed.pipeline, program.schedule)
    back = from_halide(made.pipeline, **known)
    assert (back.pipeline, back.schedule) == (program.pipeline, program.schedule)
    made.images["image"].set(hl.Buffer(IMAGE))
    made.params["shift"].set(-5)
    made.params["negative"].set(True)
    found = np.array(made.funcs["out"].realize([30, 17]))
    assert (found == -(IMAGE[:17, :30].astype(np.int32) // 2) - 5).all()
    source = " ".join(halide_source(filed.pipeline).split())
    assert "{ExternFuncArgument(Expr(shift)), twice, ExternFuncArgument(Expr(0.25f))," in source
    with pytest.raises(HalideImportError) as error:
        read_hlpipe(data, needs={"uot": known["needs"]["out"]}, cycles={"twice": 1})
    told = str(error.value)
    assert "needs names 'uot', and foreign code computes no such Func (is out meant?)" in told
    assert "cycles names 'twice', and foreign code computes no such Func; it computes out." in told
    assert "Func out: foreign code, spaces_test_weighted, defines it" in told


def test_it_is_not_replayed() -> None:
    algorithm = filtered(mean_of_three)
    replay = replay_nest(loop_nest(algorithm, Schedule.default(algorithm)), {})
    assert "foreign code computes mean" in str(replay)


def test_a_space_decides_around_it() -> None:
    algorithm = filtered(mean_of_three, 128, 64)
    space = ScheduleSpace(algorithm, CPU, Options.small(CPU))
    plain = Schedule.default(algorithm)
    image = np.arange(65 * 130, dtype=np.uint16).reshape(65, 130)
    expected = evaluate(algorithm, {"image": image})["both"]
    for drawn in space.sample(4, seed=2):
        assert drawn.of("mean").stages == plain.of("mean").stages
        assert not drawn.of("twice").compute.is_inline
        with quick_code():
            compiled = compile_cpu(verify(algorithm, drawn, CPU))
        assert (compiled({"image": image})["both"] == expected).all()


def test_definitions_that_make_no_sense() -> None:
    image, out = ImageParam(UInt16, 1, "image"), Func("out")
    with pytest.raises(DefinitionError, match="Input image has 1 dimensions, and the Func has 2"):
        out.define_extern("code", [image], UInt16, [X, Y])
    with pytest.raises(DefinitionError, match="takes an input twice"):
        out.define_extern("code", [image, image], UInt16, [X])
    with pytest.raises(DefinitionError, match="'a b' is not the name of a C function"):
        out.define_extern("a b", [image], UInt16, [X])
    with pytest.raises(DefinitionError, match="Input image has 1 dimension, but needs gives"):
        out.define_extern("code", [image], UInt16, [X], needs=[[(X, X), (X, X)]])
    for scalar in (X + 1, image[3]):
        with pytest.raises(DefinitionError, match="scalars are numbers, Params and sizes"):
            out.define_extern("code", [image, scalar], UInt16, [X])
    with pytest.raises(DefinitionError, match=r"needs of Func out are 2, but its .* 1 of 2 inp"):
        out.define_extern("code", [image, 3], UInt16, [X], needs=[None, None])
    first, second = Func("first"), Func("second")
    first.define_extern("code", [image, 3], UInt16, [X])
    second.define_extern("code", [first, 3.5], UInt16, [X])
    with pytest.raises(DefinitionError, match="Funcs first and second call code with arguments"):
        pipeline(second)
    know_callable("spaces_test_taken", mean_of_three)
    with pytest.raises(DefinitionError, match="Another Python callable is known"):
        know_callable("spaces_test_taken", print)


def test_a_document_names_code_only_as_a_whole_definition() -> None:
    algorithm = filtered("code")
    text = to_json(algorithm)
    assert from_json(text, Pipeline) == algorithm
    whole = '"op": "add", "args": [14, 16]}'
    assert text.count(whole) == text.count('"const": 0.0') == 1
    inside = text.replace(whole, '"op": "foreign", "args": [14, 16, 7]}')
    with pytest.raises(DocumentError, match="does not say which foreign code"):
        from_json(inside, Pipeline)


def test_needs_of_a_box_follow_groups_params_and_sizes_of_images() -> None:
    """Halide asks the code for each box; here formulas of an element say it for all boxes."""
    x, y = Var("x"), Var("y")
    image, n = ImageParam(Int32, 2, "image"), Param(Int32, "n")
    given, code, out = Func("given"), Func("code"), Func("out")
    given[x, y] = image[x, y] + 1
    groups, rows = (x / 16 * 16, x / 16 * 16 + 15), (y - n, y + n)
    ends = image.dim(0).min(), image.dim(0).max()
    code.define_extern(
        "smooth", [given, image], Int32, [x, y], needs=[[groups, rows], [ends, rows]]
    )
    out[x, y] = code[x, y] + code[x + 1, y]
    made = pipeline(out)
    text = "out.tile(x, y, xi, yi, 16, 4)\ncode.compute_at(out, x)\ngiven.compute_at(out, x)"
    nest = loop_nest(made, parse_schedule(text, made))
    sizes = {f"{name}.min.{d}": 0 for name in ("out", "image") for d in (0, 1)}
    sizes |= {"out.extent.0": 64, "out.extent.1": 8, "image.extent.0": 90, "image.extent.1": 99}
    at = {**sizes, "n": 2, "out.s0.x": 1, "out.s0.y": 1}
    needed = nest.bounds.placements["given"].required
    ends_of = [tuple(number(end, at) for end in (i.min, i.max)) for i in needed]
    assert ends_of == [(16, 47), (4 - 2, 7 + 2)]
    whole = nest.inputs["image"][0]
    assert whole.min is not None
    assert whole.max is not None
    assert (number(whole.min, at), number(whole.max, at)) == (0, 89)
