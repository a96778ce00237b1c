"""Costs by machine code: the bits that arrays give."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spaces.apps.catalog import APPS
from spaces.constraints.devices.device import device
from spaces.constraints.repairs.factors import slots, with_factor
from spaces.cost import lattice
from spaces.cost.batch import Batch
from spaces.cost.lattice import FormulaModel, cost_formula, lattice_costs
from spaces.cost.model import FunctionModel
from spaces.cost.registry import cost_model
from spaces.model.expressions.expr import Variable
from spaces.model.expressions.types import Int64
from spaces.model.formulas.native import read_native
from spaces.model.formulas.recorded import DependsOnDataError, Recorded, expression_of, is_nowhere
from spaces.model.writing.text import parse_schedule
from tests.cpus import FOUR_CORES
from tests.draw_counts import examples, some

pytestmark = pytest.mark.usefixtures("quickly")

SMALL = ("blur", "unsharp", "harris", "hist", "conv_layer", "iir_blur", "toy_trig", "sgemm")
MODELS = {"cpu": ("weighted", "reuse"), "gpu": ("weighted", "occupancy")}
DEVICES = {"cpu": "cpu", "gpu": "sm_80"}


def batch_of(app: str, target: str) -> Batch:
    """The hand schedule of an app with its first three factors as parameters."""
    pipeline = APPS[app].pipeline()
    family = parse_schedule(APPS[app].schedules[target].read_text(), pipeline)
    names = []
    for slot in slots(family)[:3]:
        names.append(f"factor_{len(names)}")
        family = with_factor(family, slot, names[-1])
    mesh = np.ix_(*[[1, 3, 8, 24][: 2 + i] for i in range(len(names))])
    return Batch.of(pipeline, family, dict(zip(names, mesh, strict=True)))


@pytest.mark.parametrize("target", MODELS)
@pytest.mark.parametrize("app", some(SMALL))
def test_machine_code_costs_hand_schedules_as_arrays_do(app: str, target: str):
    batch = batch_of(app, target)
    for name in MODELS[target]:
        model = cost_model(name, device(DEVICES[target]))
        assert isinstance(model, FormulaModel)
        found = read_native(cost_formula(model, batch), {**batch.sizes, **batch.columns})
        assert np.array_equal(batch.full(found), model.cost(batch), equal_nan=True)


def test_many_choices_are_costed_by_machine_code(monkeypatch):
    batch, model = batch_of("blur", "cpu"), cost_model("weighted", FOUR_CORES)
    expected = model.cost(batch)
    assert np.array_equal(lattice_costs(model, batch), expected)
    monkeypatch.setattr(type(model), "cost", lambda self, batch: pytest.fail("arrays are read"))
    monkeypatch.setattr(lattice, "MANY", 1)
    assert np.array_equal(lattice_costs(model, batch), expected)


class Branching:
    """A model that asks for values."""

    def price(self, features):
        points = features.funcs[0].points
        return points if np.all(points > 0) else 0 * points

    def cost(self, batch):
        return batch.full(self.price(batch.features))


@pytest.mark.parametrize(
    "model", [Branching(), FunctionModel(lambda b: b.features.funcs[0].points)]
)
def test_other_models_cost_many_choices_by_arrays(model, monkeypatch):
    batch = batch_of("blur", "cpu")
    monkeypatch.setattr(lattice, "MANY", 1)
    assert np.array_equal(lattice_costs(model, batch), model.cost(batch))


def calculations(children):
    pairs = st.tuples(children, children)
    return st.one_of(
        st.tuples(
            st.sampled_from(
                (np.add, np.subtract, np.multiply, np.true_divide, np.minimum, np.maximum)
            ),
            pairs,
        ).map(lambda t: lambda x, y: t[0](t[1][0](x, y), t[1][1](x, y))),
        pairs.map(lambda p: lambda x, y: np.where(p[0](x, y) <= p[1](x, y), x, p[1](x, y))),
        pairs.map(
            lambda p: (
                lambda x, y: np.where(
                    (p[0](x, y) > 1) & ~np.equal(p[1](x, y), 0) | np.less(x, 0), y, 0.5
                )
            )
        ),
        children.map(lambda c: lambda x, y: -np.ceil(c(x, y) / 3)),
        st.integers(-3, 3).map(lambda n: lambda x, y: x // n if n else y % np.maximum(x, 1)),
        st.just(lambda x, y: -(-x // y) + x % y),
    )


CALCULATIONS = st.recursive(
    st.one_of(
        st.just(lambda x, y: x),
        st.just(lambda x, y: y),
        (st.integers(-9, 9) | st.sampled_from((0.1, -2.5, 1e18))).map(lambda n: lambda x, y: n),
    ),
    calculations,
    max_leaves=8,
)
X, Y = Recorded(Variable(Int64, "x")), Recorded(Variable(Int64, "y"))
SIDE = np.array([-7, -2, -1, 0, 1, 2, 3, 10])


@settings(max_examples=examples(80), deadline=None)
@given(CALCULATIONS)
def test_recorded_calculations_give_numpy_its_bits(calculation):
    x, y = np.ix_(SIDE, SIDE)
    with np.errstate(all="ignore"):
        expected = np.asarray(calculation(x, y))
    formula = expression_of(calculation(X, Y))
    found = read_native(formula, {"x": x, "y": y})
    assert found.dtype == expected.dtype
    same = np.broadcast_to(found, (8, 8)) == np.broadcast_to(expected, (8, 8))
    if expected.dtype == np.float64:
        same &= np.signbit(found) == np.signbit(expected)
        same |= np.isnan(np.broadcast_to(found, (8, 8))) & np.isnan(expected)
    assert same.all()


def test_extremes_with_nan_are_nan():
    x = np.array([0, 1, 2, 3, 4])

    def calculation(x):
        odd = np.where(x > 1, x * 1e308 * 10 - x * 1e308 * 10, 1.5)  # inf - inf
        return np.maximum(odd, x * 1.0) + np.minimum(x * 1.0, odd) + np.maximum(odd, 2.0)

    with np.errstate(all="ignore"):
        expected = calculation(x)
    assert np.isnan(expected).tolist() == [False, False, True, True, True]
    found = read_native(expression_of(calculation(X)), {"x": x})
    assert np.array_equal(found, expected, equal_nan=True)


def test_values_of_recorded_numbers_are_not_known():
    with pytest.raises(DependsOnDataError, match=r"use np.where"):
        bool(X > 1)
    with pytest.raises(DependsOnDataError, match="NumPy's max here"):
        np.max(X)
    with pytest.raises(DependsOnDataError, match="NumPy's sin here"):
        np.sin(X)
    with pytest.raises(DependsOnDataError, match="No formula combines the bits"):
        _ = X & Y
    with pytest.raises(DependsOnDataError, match="NumPy's floor_divide of floats"):
        _ = X / 2 // Y
    with pytest.raises(DependsOnDataError, match="ndarray and recorded numbers do not mix"):
        _ = np.arange(3) + X
    assert not is_nowhere(X > 1)
    assert is_nowhere(np.array([False, False]))
    assert not is_nowhere(np.array([False, True]))
