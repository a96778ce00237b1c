"""Directives that add Funcs: what they make of the graph, with the graph written down by hand."""

import attrs
import numpy as np
import pytest

import spaces
from spaces import Func, ImageParam, Int32, Pipeline, Schedule, Var, derived, schedule
from spaces.backend.compile import compile_cpu
from spaces.backend.reference import evaluate
from spaces.model.algorithm.pipeline import Estimate
from spaces.model.directives.directives import Directives
from spaces.model.schedules.derivations import Clone, Wrap
from tests.small_space import small_space

X, Y = Var("x"), Var("y")
CPU = spaces.device("cpu")


def diamond() -> Pipeline:
    """g and h read f, which reads an image; out reads all three; g has an update."""
    image = ImageParam(Int32, 2, "input")
    f, g, h, out = Func("f"), Func("g"), Func("h"), Func("out")
    f[X, Y] = image[X, Y] * 3 + image[X + 1, Y]
    g[X, Y] = f[X, Y] + f[X - 1, Y + 1]
    g[X, 0] = g[X, 0] + f[X, 2]
    h[X, Y] = f[X + 1, Y] - image[X, Y]
    out[X, Y] = f[X, Y] + g[X, Y] * 7 + h[X, Y + 1]
    return spaces.pipeline(out)


P = diamond()


def callees(directives: Directives) -> dict[str, tuple[str, ...]]:
    """Who reads whom, by itself, in the order of computation."""
    functions = derived(P, directives.schedule).functions
    return {f.name: tuple(sorted(f.callees)) for f in functions}


def test_a_wrapper_stands_between_a_func_and_one_that_reads_it() -> None:
    assert callees(schedule(P).func("f").in_("g")) == {
        "f": ("input",),
        "f_in_g": ("f",),
        "g": ("f_in_g",),  # in its update, too
        "h": ("f", "input"),
        "out": ("f", "g", "h"),
    }


def test_several_may_share_one_wrapper() -> None:
    found = callees(schedule(P).func("f").in_("g", "out"))
    assert found["f_in_g_out"] == ("f",)
    assert (found["g"], found["h"], found["out"]) == (
        ("f_in_g_out",),
        ("f", "input"),
        ("f_in_g_out", "g", "h"),
    )


def test_all_the_others_read_a_wrapper_for_everybody_in_either_order() -> None:
    first = callees(schedule(P).func("f").in_("g").func("f").in_())
    then = callees(schedule(P).func("f").in_().func("f").in_("g"))
    for found in (first, then):
        assert found["f_in"] == found["f_in_g"] == ("f",)
        assert found["g"] == ("f_in_g",)
        assert found["h"] == ("f_in", "input")
        assert found["out"] == ("f_in", "g", "h")


def test_an_image_and_a_wrapper_are_wrapped() -> None:
    found = callees(schedule(P).func("input").in_("f").in_("f"))
    assert list(found)[:2] == ["input_in_f", "input_in_f_in_f"]
    assert found["f"] == ("input_in_f_in_f",)
    assert found["h"] == ("f", "input")
    wrapper = derived(P, schedule(P).func("input").in_("f").schedule).function("input_in_f")
    assert wrapper.args == ("_0", "_1")


def test_a_clone_reads_what_the_original_reads_and_itself() -> None:
    found = derived(P, schedule(P).func("g").clone_in("out").schedule)
    clone = found.function("g_clone_in_out")
    assert clone.callees == ("f",)
    assert "g_clone_in_out" in clone.stages[1].callees
    assert found.function("out").callees == ("f", "g_clone_in_out", "h")


def test_a_clone_is_scheduled_as_the_original_is_then() -> None:
    vectors = schedule(P).func("f").compute_root().vectorize("x", 4)
    both = vectors.clone_in("g").func("f").parallel("y").schedule
    assert both.of("f_clone_in_g").stages[0].names == ("y", "x", "x_v")
    assert both.of("f_clone_in_g").stages[0].kind("y") is spaces.LoopKind.SERIAL


def test_the_same_again_is_the_same_func() -> None:
    once = schedule(P).func("f").in_("g").compute_root()
    again = once.func("f").in_("g")
    assert again.selected == "f_in_g"
    assert again.schedule == once.schedule


def test_a_pipeline_is_rewritten_once() -> None:
    found = schedule(P).func("f").in_("g").func("f").clone_in("h").schedule
    rewritten = derived(P, found)
    assert derived(rewritten, found) is rewritten
    assert Schedule.default(rewritten) == found
    assert derived(derived(P, schedule(P).func("f").in_("g").schedule), found) == rewritten


TEXTS = [
    "f.in(h).compute_at(h, y).vectorize(x, 8)\nf.compute_root()\nh.compute_root()",
    "input.in(f).compute_at(f, y).split(_0, xo, xi, 8)\nf.compute_root()\ng.compute_root()",
    "f.in({g, out}).compute_root()\nf.in().compute_at(out, y)\ng.compute_root()",
    "f.clone_in(h).compute_at(h, y)\nh.compute_at(out, y).vectorize(x, 4)\nf.compute_root()",
    "f.clone_in(g).compute_root()\nf_clone_in_g.in(g).compute_root()\nf.in(h).compute_root()",
    "f.in()\nf_in.in(g).compute_root().parallel(y)\nf_in.compute_root()",
]


@pytest.mark.parametrize("text", TEXTS)
def test_results_stay_and_text_and_documents_come_back(text: str) -> None:
    written = spaces.parse_schedule(text, P)
    assert spaces.parse_schedule(spaces.format_schedule(written, P), P) == written
    assert spaces.from_json(spaces.to_json(written), Schedule) == written
    rewritten = derived(P, written)
    assert spaces.from_json(spaces.to_json(rewritten), Pipeline) == rewritten
    # What is derived already is no directive.
    assert "in" not in {
        call.name for s in spaces.directive_calls(rewritten, written) for call in s.calls
    }
    image = np.random.default_rng(3).integers(-(2**31), 2**31, (40, 40), np.int32, endpoint=False)
    sizes = {"out": [(2, 29), (1, 33)]}
    expected = evaluate(P, {"input": image}, sizes=sizes)["out"]
    assert np.array_equal(evaluate(rewritten, {"input": image}, sizes=sizes)["out"], expected)
    for algorithm in (P, rewritten):
        checked = spaces.verify(algorithm, written, CPU)
        assert checked, str(checked)
        found = compile_cpu(checked).run({"input": image}, sizes=sizes)["out"]
        assert np.array_equal(found, expected)


def test_declarations_name_wrappers() -> None:
    pasted = 'Func w = f.in(g);\nVar xo("xo");\nw.compute_root().split(x, xo, x, 8);'
    read = spaces.parse_schedule(pasted, P)
    assert spaces.format_schedule(read, P) == "f.in(g).compute_root().split(x, xo, x, 8)"


def test_partial_schedules_and_spaces_keep_what_was_derived() -> None:
    text = "f.in(h).compute_at(h, y)\nh.compute_root().parallel(y)"
    partial = spaces.parse_partial(text, P)
    assert [entry.name for entry in partial.funcs] == ["f_in_h", "h"]
    assert partial.derivations == (Wrap("f", ("h",)),)
    sized = attrs.evolve(P, estimates=(Estimate("out", ((0, 64), (0, 64))),))
    found = next(iter(spaces.complete(sized, partial, CPU, limit=1)))
    assert found.derivations == partial.derivations
    assert spaces.verify(P, found, CPU)
    with pytest.raises(ValueError, match=r"derives f_in_h, which pipeline out has not"):
        spaces.ScheduleSpace(sized, CPU, spaces.default_options(CPU), partial)


def test_edits_costs_and_searches_know_derived_funcs() -> None:
    sized = spaces.pipeline(_small(), estimates={"out": [64, 64], "input": [(0, 70), (0, 70)]})
    base = schedule(sized).func("f").in_("out").compute_at("out", "y").schedule
    after = [edit.after for edit in spaces.enumerate_edits(sized, base)]
    assert after
    assert all(found.derivations == base.derivations for found in after)
    chosen = spaces.cost_model("reuse", CPU)
    space = small_space(derived(sized, base), CPU)
    *_, done = spaces.search(space, chosen, "stagewise", spaces.Limits(top=1))
    assert isinstance(done, spaces.Done)
    assert spaces.verify(sized, done.best[0].schedule, CPU)
    assert done.best[0].schedule.derivations == base.derivations


def _small() -> Func:
    image = ImageParam(Int32, 2, "input")
    f, out = Func("f"), Func("out")
    f[X, Y] = image[X, Y] * 3 + image[X + 1, Y]
    out[X, Y] = f[X, Y] + f[X + 1, Y + 1]
    return out


def test_what_cannot_be_derived_is_told_and_left_out() -> None:
    written = spaces.parse_schedule("f.in(nobody).vectorize(q)\nf.compute_root()", P)
    assert spaces.parse_schedule(spaces.format_schedule(written, P), P) == written
    verdict = spaces.verify(P, written, CPU)
    assert [v.rule for v in verdict.violations] == ["derive.unknown-func"]
    mended = spaces.repair(P, written, CPU)
    assert mended.schedule == spaces.parse_schedule("f.compute_root()", P)


@pytest.mark.parametrize("step", [Clone("nobody", ("f",)), Clone("input", ("f",))], ids=str)
def test_only_funcs_are_cloned(step: Clone) -> None:
    """No text clones an image; a schedule that is made otherwise may."""
    verdict = spaces.verify(P, Schedule(Schedule.default(P).funcs, (step,)), CPU)
    assert [v.rule for v in verdict.violations] == ["derive.unknown-func"]
