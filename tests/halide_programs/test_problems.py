"""An error names all parts of a pipeline that cannot come in, with their places. Notes name the
parts whose record differs from what stands in Halide.
"""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("halide", reason="Halide's Python package is not installed")

import halide as hl
import numpy as np

from spaces import (
    HalideImportError,
    Schedule,
    ScheduleSyntaxError,
    apply,
    compile_cpu,
    device,
    format_schedule,
    from_halide,
    halide_python_source,
    halide_schedule_source,
    parse_schedule,
    read_hlpipe,
    verify,
)
from spaces.apps.errors import WrongUsage
from spaces.apps.halide_programs import app_of_file
from spaces.backend.halide.incoming.names import plain_names
from spaces.model.schedules.derivations import Clone, Wrap
from tests.differential.quick_code import quick_code

x, y, c = hl.Var("x"), hl.Var("y"), hl.Var("c")


def problems(*outputs: object) -> dict[str, str]:
    with pytest.raises(HalideImportError) as raised:
        from_halide(list(outputs))
    listed = str(raised.value).splitlines()[1:]
    assert listed == [f"- {problem}" for problem in raised.value.problems]
    return {problem.place: problem.what for problem in raised.value.problems}


def test_all_problems_of_definitions_come_at_once() -> None:
    half = hl.ImageParam(hl.Float(16), 1, "half")
    data = hl.ImageParam(hl.Int(32), 1, "data")
    foreign, printed, stride = hl.Func("foreign"), hl.Func("printed"), hl.Func("stride")
    foreign.define_extern("make_it", [hl.ExternFuncArgument(data)], hl.Int(32), [x])
    printed[x] = hl.print(data[x], "is a value")
    printed[x] += hl.i32(hl.target_bits())
    stride[x] = data.dim(0).stride() + foreign[x] + hl.i32(half[x])
    out = hl.Func("out")
    out[x] = printed[x] + stride[x]
    found = problems(out)
    assert found["Func foreign"].startswith("foreign code, make_it, defines it (define_extern)")
    assert "give needs={'foreign': ...}" in found["Func foreign"]
    assert found["value of Func printed"].startswith("printing values (print, print_when)")
    assert "target_bits" in found["value of update 0 of Func printed"]
    assert "float16" in found["image half"]
    assert "data.stride.0: strides are not values" in found["value of Func stride"]
    assert len(found) == 5


def test_all_problems_of_schedules_come_at_once() -> None:
    data = hl.ImageParam(hl.Int(32), 2, "data")
    far, hot, racy, out = (hl.Func(n) for n in ("far", "hot", "racy", "out"))
    key = hl.Param(hl.Int(32), "key")
    for func in (far, hot):
        func[x, y] = data[x, y] + x
    r = hl.RDom([(0, 4)], "r")
    racy[x, y] = 0
    racy[data[r, y] & 3, y] += r
    out[x, y] = far[x, y] + hot[x, y] + racy[x, y]
    far.compute_root().store_in(hl.MemoryType.VTCM)
    hot.compute_root().bound(x, 0, key)
    racy.compute_root().update().allow_race_conditions()
    found = problems(out)
    assert found.keys() == {
        *("schedule of Func far", "schedule of Func hot", "update 0 of Func racy"),
    }
    assert "`key`; schedules here have numbers" in found["schedule of Func hot"]
    assert "VTCM" in found["schedule of Func far"]
    program = from_halide(out, ignore_schedule=True)
    assert (program.scheduled, program.fixed.funcs) == ((), ())
    assert program.schedule == Schedule.default(program.pipeline)


def test_without_its_schedule_a_pipeline_has_no_wrappers(tmp_path: Path) -> None:
    data, inner, out = hl.ImageParam(hl.Int(32), 2, "data"), hl.Func("inner"), hl.Func("out")
    key = hl.Param(hl.Int(32), "key")
    inner[x, y] = data[x, y] + 1
    out[x, y] = inner[x, y]
    plain = from_halide(out)
    inner.compute_root().specialize(key > 3).vectorize(x, 4)
    inner.in_(out).compute_root()
    assert from_halide(out, ignore_schedule=True) == plain != from_halide(out)
    inner.store_in(hl.MemoryType.VTCM)
    file = tmp_path / "lanes.hlpipe"
    hl.serialize_pipeline(hl.Pipeline([out]), str(file))
    with pytest.raises(WrongUsage) as error:
        app_of_file(f"{file}:out=9x9").pipeline()
    last = str(error.value).splitlines()[-1]
    assert last == f"The pipeline comes in without its schedule: {file}:out=9x9,schedule=none"
    found = app_of_file(f"{file}:out=9x9,data=9x9,schedule=none")
    assert found.halide().schedule == Schedule.default(found.pipeline())
    assert found.pipeline().estimate("out") == ((0, 9), (0, 9))


@pytest.mark.parametrize(
    "directive",
    ["store_in(MemoryType::Stack)", "store_root()", "compute_at(out, x)", "bound(x, 0, 4)"],
)
def test_storage_is_the_same_for_all_specializations(directive: str) -> None:
    """In Halide, too, a specialization is a stage, which has loops only."""
    data, inner, out = hl.ImageParam(hl.Int(32), 2, "data"), hl.Func("inner"), hl.Func("out")
    inner[x, y] = data[x, y] + 1
    out[x, y] = inner[x, y]
    case = inner.compute_root().specialize(data.dim(0).extent() > 8)
    assert not hasattr(case, directive.partition("(")[0])
    text = f"inner.specialize(data.dim(0).extent() > 8).{directive}"
    with pytest.raises(ScheduleSyntaxError, match=r"After specialize only the loops of inner can"):
        parse_schedule(text, from_halide(out).pipeline)


def test_funcs_that_run_beside_their_readers_come_in_and_go_back() -> None:
    def funcs(is_scheduled: bool):
        data = hl.ImageParam(hl.Int(32), 2, "data")
        ring, later, out = hl.Func("ring"), hl.Func("later"), hl.Func("out")
        ring[x, y] = data[x, y] * 3
        later[x, y] = ring[x, y] + ring[x + 1, y]
        out[x, y] = later[x, y] ^ later[x, y + 1]
        if is_scheduled:
            later.compute_root().async_()
            ring.compute_at(later, y).hoist_storage_root().ring_buffer(2).async_()
        return data, out

    data, out = funcs(is_scheduled=True)
    sizes = {"out": [16, 8], "data": [17, 9]}
    found = from_halide(out, estimates=sizes)
    text = format_schedule(found.schedule, found.pipeline)
    assert text == (
        "later.compute_root().async()\n"
        "ring.compute_at(later, y).hoist_storage_root().async().ring_buffer(2)"
    )
    assert found.notes == ()
    file = read_hlpipe(hl.serialize_pipeline(hl.Pipeline([out])))
    assert file.schedule == found.schedule
    _, plain = funcs(is_scheduled=False)
    applied = apply(found.schedule, plain)
    assert applied.schedule == found.schedule
    assert ".async()" in halide_schedule_source(found.pipeline, found.schedule)
    assert ".async_()" in halide_python_source(found.pipeline, found.schedule)
    checked = verify(found.pipeline, found.schedule, device("cpu"))
    assert [one.rule for one in checked.advice] == ["advice.async"] * 2
    values = np.arange(9 * 17, dtype=np.int32).reshape(9, 17)
    with quick_code():
        ours = compile_cpu(checked)({"data": values})["out"]
    data.set(hl.Buffer(values))
    assert (np.array(out.realize([16, 8])) == ours).all()


def test_wrappers_for_funcs_outside_of_the_pipeline_are_ignored() -> None:
    inner, other, out = hl.Func("inner"), hl.Func("other"), hl.Func("out")
    inner[x] = x * x
    other[x] = inner[x] + 1
    out[x] = inner[x] + 2
    inner.in_(other).compute_root()
    inner.compute_root()
    found = from_halide(out)
    assert [func.name for func in found.pipeline.functions] == ["inner", "out"]
    assert found.schedule.derivations == ()


def test_the_key_of_kept_results_is_left_out() -> None:
    shift = hl.Param(hl.Int(32), "shift")
    table, out = hl.Func("table"), hl.Func("out")
    table[x] = x + shift
    out[x] = table[x & 7]
    table.compute_root().memoize(hl.EvictionKey(shift))
    found = from_halide(out)
    assert found.schedule.of("table").memoized
    (note,) = found.notes
    assert note.startswith("The eviction key of memoize() of Func table is left out")


def test_conditions_inside_conditions() -> None:
    data = hl.ImageParam(hl.Int(32), 1, "data")
    out = hl.Func("out")
    out[x] = data[x]
    wide = out.specialize(data.width() > 8)
    wide.vectorize(x, 4)
    wide.specialize(data.width() > 16).parallel(x)
    wide.specialize_fail("too narrow")
    found = from_halide(out)
    assert format_schedule(found.schedule, found.pipeline).splitlines() == [
        "out.specialize((data.dim(0).extent() > 8) && (data.dim(0).extent() > 16))"
        ".vectorize(x, 4).parallel(x)",
        'out.specialize(data.dim(0).extent() > 8).specialize_fail("too narrow").vectorize(x, 4)',
    ]


def test_a_requirement_keeps_its_message() -> None:
    data, low = hl.ImageParam(hl.Int(32), 1, "data"), hl.Param(hl.Int(32), "low")
    out = hl.Func("out")
    out[x] = data[x]
    whole = hl.Pipeline([out])
    whole.add_requirement(low > 3, "low must be more than 3, and is", low)
    (promise,) = from_halide(whole).pipeline.promises
    assert str(promise.condition) == "low > 3"
    assert promise.message == "low must be more than 3, and is low"


def test_inlined_updates_with_several_readers_are_noted() -> None:
    data = hl.ImageParam(hl.Int(32), 1, "data")
    r = hl.RDom([(0, 3)], "r")
    sums, one, out = hl.Func("sums"), hl.Func("one"), hl.Func("out")
    sums[x] = 0
    sums[x] += data[x + r]
    one[x] = sums[x] * 2
    out[x] = sums[x] + one[x + 1]
    one.compute_root()
    found = from_halide(out)
    assert found.schedule.of("sums").compute.is_root
    (note,) = found.notes
    assert note.startswith("Func sums has updates and no place in Halide")


def test_inlined_updates_with_one_reader_are_computed_where_it_uses_them() -> None:
    data = hl.ImageParam(hl.Int(32), 1, "data")
    r = hl.RDom([(0, 3)], "r")
    sums, out = hl.Func("sums"), hl.Func("out")
    sums[x] = 0
    sums[x] += data[x + r]
    out[x] = sums[x] * 2
    out.split(x, x, hl.Var("xi"), 8)
    found = from_halide(out)
    assert found.notes == ()
    assert str(found.schedule.of("sums").compute) == "out.xi"


def test_wrappers_and_clones_are_told_apart() -> None:
    data = hl.ImageParam(hl.Int(32), 1, "data")
    shared, left, right, out = (hl.Func(n) for n in ("shared", "left", "right", "out"))
    shared[x] = data[x] * 3
    left[x] = shared[x] + 1
    right[x] = shared[x] + 2
    out[x] = left[x] * right[x]
    shared.compute_root()
    shared.clone_in(right).compute_root().vectorize(x, 4)
    shared.in_(left).compute_at(out, x)
    data.in_().compute_root()
    found = from_halide(out)
    assert set(found.schedule.derivations) == {
        *(Clone("shared", ("right",)), Wrap("shared", ("left",)), Wrap("data")),
    }
    assert str(found.schedule.of("shared_in_left").compute) == "out.x"
    assert found.schedule.of("shared_clone_in_right").stages[0].names == ("x", "x_v")


def test_names_are_those_that_people_wrote() -> None:
    data = hl.ImageParam(hl.Int(32), 1, "data")
    first, second = hl.Func("level"), hl.Func("level")
    again, out = hl.Func("data"), hl.Func("out$3")
    first[x] = data[x]
    second[x] = first[x] + 1
    again[x] = second[x]
    out[x] = again[x]
    found = from_halide(out)
    assert [f.name for f in found.pipeline.functions][-2:] == ["data_1", "out"]
    assert found.names["out"] == out.name()
    assert found.names["data_1"] == again.name()
    levels = [f.name for f in found.pipeline.functions][:2]
    assert levels == ["level", "level_1"]
    assert [found.names.get(name, name) for name in levels] == [first.name(), second.name()]


def test_names_are_numbered_in_the_order_in_which_things_were_made() -> None:
    given = ("f$10", "g", "f$2", "f", "lambda_12", "lambda_3", "in$1_im", "a.b", "3d", "f_1")
    assert plain_names(given, taken=["g"]) == {
        "f": "f",
        "f_1": "f_1",
        "f$2": "f_2",
        "f$10": "f_3",
        "lambda_3": "lambda",
        "lambda_12": "lambda_1",
        "in$1_im": "in_im",
        "g": "g_1",
        "a.b": "a_b",
        "3d": "v3d",
    }


def test_names_of_partial_results_lose_the_number_of_their_func() -> None:
    """Halide makes ``f_1_intm$2`` of ``f$1`` if something had the name ``f$1_intm`` before."""
    assert plain_names(["f$1", "f_1_intm$2", "f_1_other$2"]) == {
        "f$1": "f",
        "f_1_intm$2": "f_intm",
        "f_1_other$2": "f_1_other",
    }
    assert plain_names(["f_1_intm$2", "g$1"]) == {"f_1_intm$2": "f_1_intm", "g$1": "g"}


def test_conditions_may_ask_for_the_size_of_an_output() -> None:
    data = hl.ImageParam(hl.Int(32), 1, "data")
    out = hl.Func("out")
    out[x] = data[x]
    out.output_buffer().dim(0).set_min(2)
    out.specialize(out.output_buffer().width() > 16).vectorize(x, 8)
    found = from_halide(out)
    assert [image.name for image in found.pipeline.images] == ["data"]
    assert format_schedule(found.schedule, found.pipeline) == (
        "out.specialize(out.dim(0).extent() > 16).vectorize(x, 8)"
    )
    # Halide keeps such outputs among its parameters, whose limits no file has.
    assert {str(promise.condition) for promise in found.pipeline.promises} == {
        *("out.min.0 >= 2", "out.min.0 <= 2"),
    }


def test_limits_and_estimates_are_those_that_halide_knows() -> None:
    data, gain = hl.ImageParam(hl.Int(32), 2, "data"), hl.Param(hl.Int(32), "gain")
    data.dim(0).set_min(0).set_stride(48)
    data.dim(1).set_extent(data.dim(0).extent()).set_stride(1)
    gain.set_range(1, 9)
    gain.set_estimate(4)
    out = hl.Func("out")
    out[x, y] = data[x, y] * gain
    out.output_buffer().dim(0).set_min(0)
    out.set_estimates([(0, 48), (0, 48)])
    data.set_estimates([(0, 48), (0, 48)])
    live = from_halide(out)
    filed = read_hlpipe(hl.serialize_pipeline(hl.Pipeline([out])))
    assert live.lacks_estimates == filed.lacks_estimates == ()
    assert live.pipeline.estimate("out") == ((0, 48), (0, 48))
    (scalar,) = live.pipeline.scalars
    assert scalar.default == 4
    assert live.pipeline.steps("data", 2) == (48, 1)
    conditions = {str(promise.condition) for promise in live.pipeline.promises}
    assert conditions == {
        *("data.min.0 >= 0", "data.min.0 <= 0", "out.min.0 >= 0", "out.min.0 <= 0"),
        *("data.extent.1 >= data.extent.0", "data.extent.1 <= data.extent.0"),
        *("gain >= 1", "gain <= 9"),
    }
    # A file has the limits of outputs alone.
    assert {str(p.condition) for p in filed.pipeline.promises} == {
        "out.min.0 >= 0",
        "out.min.0 <= 0",
    }


def test_estimates_may_be_given() -> None:
    data, gain = hl.ImageParam(hl.Int(32), 2, "data"), hl.Param(hl.Int(32), "gain")
    out = hl.Func("out")
    out[x, y] = data[x, y] * gain
    file = hl.serialize_pipeline(hl.Pipeline([out]))
    assert set(read_hlpipe(file).lacks_estimates) == {"data", "out"}
    found = read_hlpipe(file, estimates={"out": [64, (2, 48)], "gain": 3}, name="scaled")
    assert found.lacks_estimates == ("data",)
    assert found.pipeline.estimate("out") == ((0, 64), (2, 48))
    assert (found.pipeline.name, found.pipeline.scalars[0].default) == ("scaled", 3)
    with pytest.raises(HalideImportError, match=r"estimate of outt: no image.* \(is out meant\?\)"):
        read_hlpipe(file, estimates={"outt": [64, 48]})
    with pytest.raises(
        HalideImportError, match="estimate of volume: no image, output or Param has"
    ):
        read_hlpipe(file, estimates={"volume": 3})


def test_sizes_of_outputs_follow_from_those_of_images(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    data, out = hl.ImageParam(hl.Int(32), 2, "data"), hl.Func("out")
    out[x, y] = data[x - 2, y] + data[x, y]
    file = tmp_path / "theirs.hlpipe"
    hl.serialize_pipeline(hl.Pipeline([out]), str(file))
    assert app_of_file(f"{file}:data=64x48").pipeline().estimate("out") == ((2, 62), (0, 48))
    assert caplog.messages == [
        f"{file} tells no usual sizes of out; these are the largest for which nothing is read "
        "outside of the images: out=2:62x48."
    ]
    caplog.clear()
    assert app_of_file(str(file)).pipeline().estimate("out") is None
    assert "give them, as in" in caplog.text


@hl.generator(name="scaled_by_a_generator")
class Scaled:
    offset = hl.GeneratorParam(3)
    data = hl.InputBuffer(hl.UInt(8), 2)
    gain = hl.InputScalar(hl.Int(32))
    scaled = hl.OutputBuffer(hl.Int(32), 2)

    def generate(self) -> None:
        self.scaled[x, y] = hl.i32(self.data[x, y]) * self.gain + self.offset
        self.scaled.vectorize(x, 8)


def test_a_generator_comes_in() -> None:
    found = from_halide(Scaled)
    (function,) = found.pipeline.functions
    assert str(function.stages[0].values[0]) == "int32(data(x, y)) * gain + 3"
    assert format_schedule(found.schedule, found.pipeline) == "scaled.vectorize(x, 8)"


def test_other_objects_are_refused() -> None:
    with pytest.raises(TypeError, match=r"is a halide\.Func, .* not 3"):
        from_halide(3)
