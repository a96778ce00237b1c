"""The price of one schedule, and its parts."""

import math

import pytest
from attrs import evolve

import spaces
from spaces.apps.catalog import APPS
from tests.cpus import FOUR_CORES
from tests.enumerate.pipelines import blur


def checked(app, name, device):
    pipeline = APPS[app].pipeline()
    text = APPS[app].schedules[name].read_text()
    return spaces.verify(pipeline, spaces.parse_schedule(text, pipeline, 256), device)


DEVICES = {"cpu": evolve(FOUR_CORES, model="znver4"), "gpu": spaces.device("sm_80")}
"""One of each kind with peak rates that are known, whatever this machine is."""

SUBJECTS = [
    *(("harris", "cpu", model) for model in ("reuse", "weighted", "roofline", "learned", "hybrid")),
    *(("sgemm", "cpu", model) for model in ("reuse", "weighted", "roofline")),
    *(("unsharp", "gpu", model) for model in ("occupancy", "weighted", "roofline")),
]


@pytest.mark.parametrize(("app", "name", "model"), SUBJECTS)
def test_the_parts_add_up_to_the_price_of_a_batch(app, name, model):
    verdict = checked(app, name, DEVICES[name])
    found = spaces.price(verdict, model)
    batch = spaces.Batch.of(verdict.pipeline, verdict.schedule)
    whole = float(spaces.cost_model(model, verdict.device).cost(batch))
    assert found.cost == whole
    assert found.model == model
    assert math.fsum(part.cost for part in found.parts) == pytest.approx(whole, rel=1e-9)
    assert math.fsum(found.by_func.values()) == pytest.approx(whole, rel=1e-9)
    computed = {entry.name for entry in verdict.schedule.funcs if not entry.compute.is_inline}
    assert {part.func for part in found.parts} <= computed
    costs = [part.cost for part in found.parts]
    assert costs == sorted(costs, reverse=True)
    assert str(found).splitlines()[1].split()[0] == next(iter(found.by_func))
    assert len(str(found).splitlines()) <= 30


def test_a_function_prices_without_parts():
    verdict = spaces.verify(blur(64, 32), spaces.Schedule.default(blur(64, 32)), FOUR_CORES)
    found = spaces.price(verdict, lambda batch: 7.0)
    assert (found.cost, found.parts) == (7.0, ())
    assert str(found) == "7 by <lambda>"
    assert spaces.price(verdict).model == "reuse"


class Halves:
    """A model that says which half of its price is whose."""

    def cost(self, batch):
        return batch.full(4.0)

    def parts(self, features):
        return {(func.name, 0): {"half": 4.0 / len(features.funcs)} for func in features.funcs}


def test_a_model_of_the_user_tells_its_parts():
    pipeline = blur(64, 32)
    schedule = spaces.parse_schedule("blur_x.compute_root()", pipeline)
    found = spaces.price(spaces.verify(pipeline, schedule, FOUR_CORES), Halves())
    assert found.by_func == {"blur_x": 2.0, "blur_y": 2.0}
    assert "50.0%  2: half 2" in str(found)


def test_what_has_no_price_is_told():
    pipeline = blur(64, 32)
    with pytest.raises(TypeError, match="not a Schedule"):
        spaces.price(spaces.Schedule.default(pipeline))
    illegal = spaces.verify(
        pipeline, spaces.parse_schedule("blur_y.vectorize(z)", pipeline), FOUR_CORES
    )
    with pytest.raises(TypeError, match="not an Illegal"):
        spaces.price(illegal)


def called(schedule, **stated):
    """The price of ``code``, which foreign code computes in 64 columns and 33 rows."""
    x, y = spaces.Var("x"), spaces.Var("y")
    image = spaces.ImageParam(spaces.Int32, 2, "image")
    code, out = spaces.Func("code"), spaces.Func("out")
    code.define_extern("soften", [image], spaces.Int32, [x, y], **stated)
    out[x, y] = code[x, y] + code[x, y + 1]
    pipeline = spaces.pipeline(out, estimates={out: [64, 32]})
    verdict = spaces.verify(pipeline, spaces.parse_schedule(schedule, pipeline), FOUR_CORES)
    found = spaces.price(verdict)
    return next(p.cost for p in found.parts if (p.func, p.what) == ("code", "compute"))


def test_foreign_code_costs_its_calls_and_what_is_stated_for_its_elements():
    element, call = spaces.Prices().foreign, spaces.Prices().foreign_call
    assert called("code.compute_root()") == 64 * 33 * element + call
    assert called("code.compute_root()", cycles=12) == 64 * 33 * 12 + call
    assert called("code.compute_at(out, y)", cycles=12) == 32 * (64 * 2 * 12 + call)
    with pytest.raises(spaces.DefinitionError, match=r"are a positive number, not 0\."):
        called("code.compute_root()", cycles=0)
