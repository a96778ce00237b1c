"""Schedules go onto Funcs that are in Halide already, and are read back from them."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("halide", reason="Halide's Python package is not installed")

import halide as hl

from spaces import (
    AppliedOtherwiseError,
    ApplyError,
    Options,
    Schedule,
    ScheduleSpace,
    apply,
    best,
    device,
    from_halide,
    parse_schedule,
    read_hlpipe,
    search,
    to_halide,
    write_hlpipe,
)
from spaces.backend.halide import bridge
from spaces.backend.halide.definition import PeerAlgorithm
from spaces.backend.halide.directives import PeerDirectives
from spaces.model.expressions.types import UInt8
from spaces.model.schedules.derive import derived
from tests.differential.pipelines import KINDS
from tests.halide_programs.drawn import drawn_schedules

TILED = """
blur.split(y, y, yi, 8).vectorize(x, 16).parallel(y)
rows.compute_at(blur, yi).store_at(blur, y).vectorize(x, 16)
hist.compute_root().vectorize(x, 8)
hist.update(0).split(r.x, ro, ri, 4).unroll(ri)
"""

COPIED = """
rows.in_(blur).compute_root()
photo.in_().compute_root().vectorize(_0, 8)
hist.clone_in(blur).compute_root()
"""


def funcs(number: int = 0):
    """Funcs of a user: ``blur`` reads ``rows`` and ``hist``, a sum."""
    x, y, r = hl.Var("x"), hl.Var("y"), hl.RDom([(0, 16)], "r")
    photo = hl.ImageParam(hl.UInt(8), 2, "photo")
    rows, hist, blur = hl.Func("rows"), hl.Func("hist"), hl.Func("blur")
    rows[x, y] = hl.u16(photo[x, y]) + photo[x + 1, y]
    hist[x] = hl.u16(number)
    hist[x] += hl.u16(photo[x, r.x])
    blur[x, y] = hl.u8((rows[x, y] + rows[x, y + 1] + hist[x]) & 255)
    return photo, rows, hist, blur


def picture(photo, blur):
    values = np.arange(33 * 49, dtype=np.uint16).reshape(33, 49).astype(np.uint8) * 7
    photo.set(hl.Buffer(values))
    return np.array(blur.realize([48, 32]))


@pytest.mark.parametrize("text", [TILED, COPIED])
def test_a_schedule_goes_onto_the_funcs_of_a_user(text: str) -> None:
    wanted_photo, _, _, wanted = funcs()
    photo, _, _, blur = funcs()
    pipeline = from_halide(blur).pipeline
    schedule = parse_schedule(text, pipeline)
    found = apply(schedule, blur)
    assert found.pipeline == pipeline
    assert from_halide(blur).schedule == found.schedule != from_halide(wanted).schedule
    assert (picture(photo, blur) == picture(wanted_photo, wanted)).all()
    assert apply(schedule, blur) == found  # nothing is left to do


def test_loops_in_halide_are_those_of_the_schedule(capfd) -> None:
    _, _, _, blur = funcs()
    apply(parse_schedule(TILED, from_halide(blur).pipeline), blur)
    blur.print_loop_nest()
    nest = capfd.readouterr().err
    assert "parallel y.y" in nest
    assert "unrolled r.ri in [0, 3]" in nest
    assert nest.count("vectorized") == 3


def test_all_reasons_against_a_schedule_are_told_before_anything_changes() -> None:
    _, rows, hist, blur = funcs()
    rows.compute_root()
    hist.update(0).unroll(hist.rvars(0)[0], 2)
    before = from_halide(blur)
    schedule = parse_schedule(
        "blur.vectorize(x, 16).prefetch(photo, y, y, 2)\nhist.compute_root()", before.pipeline
    )
    with pytest.raises(ApplyError) as error:
        apply(schedule, blur, leave=["row"])
    told = "\n".join(error.value.reasons)
    assert len(error.value.reasons) == 4
    assert "leave names 'row'" in told
    assert "Func rows has another schedule in Halide" in told
    assert "Func hist has another schedule in Halide" in told
    assert "Func blur prefetches image photo" in told
    assert from_halide(blur) == before


CASES = """
blur.specialize(gain > 3 and photo.dim(0).extent() == 49).vectorize(x, 8)
blur.specialize(gain > 3).parallel(y)
"""


@pytest.mark.parametrize("gain", [2, 5])
def test_cases_ask_for_params_and_sizes_of_images(gain: int, capfd) -> None:
    def bright(scale):
        photo, _, _, blur = funcs()
        x, y, out = hl.Var("x"), hl.Var("y"), hl.Func("out")
        out[x, y] = blur[x, y] * hl.u8(scale)
        return photo, out

    scale = hl.Param(hl.Int(32), "gain")
    photo, out = bright(scale)
    schedule = parse_schedule(CASES.replace("blur", "out"), from_halide(out).pipeline)
    found = apply(schedule, out)
    assert found.schedule == from_halide(out).schedule == schedule
    scale.set(gain)
    wanted_photo, wanted = bright(gain)
    assert (picture(photo, out) == picture(wanted_photo, wanted)).all()
    out.print_loop_nest()
    nest = capfd.readouterr().err
    assert nest.count("vectorized x.v") == 1
    assert nest.count("parallel y") == 1


FACTORED = """
hist.update(0).split(r.x, ro, ri, 4).rfactor(ro, u).compute_root().vectorize(u, 4)
hist_intm.update(0).parallel(u)
hist.compute_root().update(0).unroll(ro)
rows.in_(blur).compute_root()
"""


def test_a_factored_reduction_goes_onto_funcs(capfd) -> None:
    photo, _, _, blur = funcs()
    pipeline = from_halide(blur).pipeline
    schedule = parse_schedule(FACTORED, pipeline)
    found = apply(schedule, blur)
    assert {func.name for func in found.pipeline.functions} == {"hist_intm", "hist", "rows", "blur"}
    assert found.schedule.of("hist_intm").compute.is_root
    wanted_photo, _, _, wanted = funcs()
    assert (picture(photo, blur) == picture(wanted_photo, wanted)).all()
    blur.print_loop_nest()
    nest = capfd.readouterr().err
    assert "parallel u" in nest
    assert "unrolled ro in [0, 3]" in nest
    with pytest.raises(ApplyError, match="has a Func hist_intm already"):
        apply(schedule, blur)


def test_the_readers_of_a_wrapper_have_no_order_in_halide() -> None:
    *_, blur = funcs()
    pipeline = from_halide(blur).pipeline
    schedule = parse_schedule(
        "photo.in(rows, hist).compute_root().vectorize(_0, 8)\n"
        "photo_in_rows_hist.in(rows).compute_at(rows, y)\n"
        "rows.compute_at(blur, y)",
        pipeline,
    )
    found = apply(schedule, blur)
    assert [step.name for step in found.schedule.derivations] == [
        "photo_in_hist_rows",
        "photo_in_hist_rows_in_rows",
    ]
    assert found.schedule.of("photo_in_hist_rows").compute.is_root


SUBSTITUTES = {
    "f.in(g)\nf_in_g.in(g)": lambda e, f, g, h: f.in_(g).in_(g),
    "f.in()\nf_in.in()": lambda e, f, g, h: f.in_().in_(),
    "f.in(g)\nf_in_g.in()": lambda e, f, g, h: f.in_(g).in_(),
    "f.in()\nf_in.in(g)": lambda e, f, g, h: f.in_().in_(g),
    "f.in({g, h})\nf_in_g_h.in(g)": lambda e, f, g, h: f.in_([h, g]).in_(g),
    "f.in({g, h})\nf_in_g_h.in({g, h})": lambda e, f, g, h: f.in_([g, h]).in_([h, g]),
    "f.in()\nf.in(g)": lambda e, f, g, h: (f.in_(g), f.in_()),
    "f.in(g)\nf.in(f_in_g)": lambda e, f, g, h: f.in_(f.in_(g)),
    "f.in()\nf.in(f_in)": lambda e, f, g, h: f.in_(f.in_()),
    "f.clone_in(g)\nf_clone_in_g.in(g)": lambda e, f, g, h: f.clone_in(g).in_(g),
    "f.in(g)\nf_in_g.clone_in(g)": lambda e, f, g, h: f.in_(g).clone_in(g),
    "f.clone_in({g, h})\nf_clone_in_g_h.clone_in(g)": lambda e, f, g, h: f.clone_in(
        [g, h]
    ).clone_in(g),
    "f.clone_in(g)\ne.in(f_clone_in_g)": lambda e, f, g, h: e.in_(f.clone_in(g)),
    "f.clone_in(g)\ne.clone_in(f_clone_in_g)": lambda e, f, g, h: e.clone_in(f.clone_in(g)),
    "f.clone_in(g)\nf.in(h)\nf.in()": lambda e, f, g, h: (f.clone_in(g), f.in_(), f.in_(h)),
    "f.in(g)\nf.clone_in(h)": lambda e, f, g, h: (f.clone_in(h), f.in_(g)),
}
"""Wrappers and clones of one another, as their text and as directives of Halide."""


@pytest.mark.parametrize("text", SUBSTITUTES)
def test_wrappers_and_clones_of_one_another_come_in_and_go_back(text: str) -> None:
    def made():
        x, data = hl.Var("x"), hl.ImageParam(hl.Int(32), 1, "data")
        e, f, g, h, out = (hl.Func(name) for name in ("e", "f", "g", "h", "out"))
        e[x] = data[x] * 2
        f[x] = e[x] + e[x + 1]
        g[x] = f[x] + f[x + 1]
        h[x] = f[x] * 3 + e[x]
        out[x] = g[x] + h[x] + f[x]
        return out, (e, f, g, h)

    out, inner = made()
    SUBSTITUTES[text](*inner)
    found = from_halide(out)
    wanted = parse_schedule(text, from_halide(made()[0]).pipeline)
    assert set(found.schedule.derivations) == set(wanted.derivations)
    ours, theirs = (
        {function.name: function for function in derived(found.pipeline, schedule).functions}
        for schedule in (wanted, found.schedule)
    )
    assert ours == theirs
    filed = read_hlpipe(hl.serialize_pipeline(hl.Pipeline([out])))
    assert filed.schedule == found.schedule
    assert from_halide(to_halide(found.pipeline, wanted).pipeline).schedule == found.schedule
    assert apply(wanted, made()[0]).schedule == found.schedule


def test_funcs_to_leave_keep_their_schedule() -> None:
    _, rows, _, blur = funcs()
    rows.compute_root().vectorize(rows.args()[0], 4)
    before = from_halide(blur)
    schedule = parse_schedule("blur.vectorize(x, 16)\nhist.compute_root()", before.pipeline)
    found = apply(schedule, blur, leave=["rows"])
    assert found.schedule.of("rows") == before.schedule.of("rows")
    assert found.schedule.of("blur") == schedule.of("blur") != before.schedule.of("blur")


def test_a_search_decides_only_what_has_no_schedule() -> None:
    _, rows, _hist, blur = funcs()
    rows.compute_root().vectorize(rows.args()[0], 4)
    program = from_halide(blur, estimates={"blur": [256, 192], "photo": [257, 193]})
    assert program.scheduled == ("rows",)
    small = Options.small(device("cpu"))
    space = ScheduleSpace(program.pipeline, device("cpu"), small, fixed=program.fixed)
    first = best(search(space)).best[0].schedule
    assert first.of("rows") == program.schedule.of("rows")
    assert first != program.schedule
    assert apply(first, blur).schedule.of("rows") == first.of("rows")


def test_a_directive_that_is_lost_is_told_by_its_func(monkeypatch: pytest.MonkeyPatch) -> None:
    _, _, _, blur = funcs()
    kept = PeerDirectives.apply

    def forgetful(self: PeerDirectives, line) -> None:
        if line.func != "rows":
            kept(self, line)

    monkeypatch.setattr(PeerDirectives, "apply", forgetful)
    with pytest.raises(AppliedOtherwiseError) as error:
        apply(parse_schedule(TILED, from_halide(blur).pipeline), blur)
    (told,) = error.value.differences
    assert told.startswith("rows got compute_at(blur, yi)")
    assert told.endswith("and Halide has no directives.")


def test_a_class_of_generators_is_refused() -> None:
    with pytest.raises(TypeError, match="makes new Funcs each time"):
        apply(Schedule(()), hl.Generator)


def test_a_pipeline_of_ours_becomes_objects_of_halide() -> None:
    _, _, _, blur = funcs(3)
    sent = from_halide(blur, estimates={"blur": [48, 32], "photo": [49, 33]}).pipeline
    schedule = parse_schedule(TILED, sent)
    made = to_halide(sent, schedule)
    assert from_halide(made.pipeline).scheduled == ("rows", "hist", "blur")
    assert set(made.funcs) == {"rows", "hist", "blur"}
    assert str(made.images["photo"].type()) == str(hl.UInt(UInt8.bits))
    assert not made.params
    found = from_halide(made.pipeline)
    assert found.pipeline == sent
    assert found.schedule.of("rows") == schedule.of("rows")
    plain = funcs(3)
    assert (picture(made.images["photo"], made.funcs["blur"]) == picture(plain[0], plain[3])).all()


def test_a_file_is_written_that_halide_reads_back(tmp_path: Path, monkeypatch) -> None:
    _, _, _, blur = funcs(3)
    sent = from_halide(blur, estimates={"blur": [48, 32], "photo": [49, 33]}).pipeline
    for text in (TILED, COPIED, FACTORED):
        schedule = parse_schedule(text, sent)
        write_hlpipe(tmp_path / "sent.hlpipe", sent, schedule)
        found = read_hlpipe(tmp_path / "sent.hlpipe")
        assert found.schedule.of("blur") == schedule.of("blur")
        assert {one.name for one in found.schedule.funcs} == {one.name for one in schedule.funcs}
        if text is not FACTORED:
            assert found.pipeline == sent
            assert set(found.schedule.derivations) == set(schedule.derivations)
        if text is TILED:
            assert found.schedule == schedule
    read = hl.deserialize_pipeline(str(tmp_path / "sent.hlpipe"))
    assert [func.name().split("$")[0] for func in read.outputs()] == ["blur"]
    monkeypatch.setattr(hl, "deserialize_pipeline", lambda _: to_halide(sent).pipeline)
    with pytest.raises(AppliedOtherwiseError, match="The schedule adds"):
        write_hlpipe(tmp_path / "other.hlpipe", sent, parse_schedule(COPIED, sent))
    assert not (tmp_path / "other.hlpipe").exists()


IMPLICIT = """
photo.in().compute_at(repeat_edge, _1).vectorize(_0, 8)
repeat_edge.compute_at(blur, yo).split(_0, _0, _0i, 8).vectorize(_0i).reorder_storage(_1, _0)
repeat_edge.align_storage(_1, 8).bound_storage(_0, 64).never_partition(_0)
blur.split(y, yo, y, 4)
"""


def test_a_file_may_have_vars_without_names(tmp_path: Path) -> None:
    """Halide names the Vars of boundary conditions itself; names of ours are other ones there."""
    x, y, photo = hl.Var("x"), hl.Var("y"), hl.ImageParam(hl.UInt(8), 2, "photo")
    around = hl.BoundaryConditions.repeat_edge(photo)
    blur = hl.Func("blur")
    blur[x, y] = around[x - 1, y] / 2 + around[x + 1, y] / 2
    sent = from_halide(blur).pipeline
    file = tmp_path / "sent.hlpipe"
    write_hlpipe(file, sent, parse_schedule(IMPLICIT, sent))
    found = read_hlpipe(file)
    renamed = re.sub(r"\b_(\d)", r"v_\1", IMPLICIT).replace(
        "repeat_edge, v_1).vectorize(v_0", "repeat_edge, v_1).vectorize(_0"
    )
    assert found.schedule == parse_schedule(renamed, found.pipeline)
    assert found.schedule.of("repeat_edge").storage_bounds[0].dimension == "v_0"


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_drawn_schedules_go_into_files(kind: str, tmp_path: Path) -> None:
    """Into one that Halide and this library read back."""
    file = tmp_path / "sent.hlpipe"
    for pipeline, schedule in drawn_schedules("into", kind, 6, fewest=1):
        write_hlpipe(file, pipeline, schedule)
        sent = read_hlpipe(file).schedule.of(pipeline.outputs[0]).stages[0]
        assert len(sent.loops) == len(schedule.of(pipeline.outputs[0]).stages[0].loops)


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_drawn_schedules_go_onto_funcs(kind: str) -> None:
    """Each is applied, or refused by reasons that say so; none is applied otherwise."""
    for pipeline, schedule in drawn_schedules("onto", kind, 6, fewest=1):
        made = bridge.HalidePipeline(PeerAlgorithm(pipeline))
        reasons: tuple[str, ...] = ()
        try:
            apply(schedule, made.halide)
        except ApplyError as error:
            reasons = error.reasons
        assert all("which cannot be found from the Funcs" in reason for reason in reasons)
