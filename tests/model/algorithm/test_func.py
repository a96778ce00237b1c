"""The definition language: the pipelines that it builds, and its messages about mistakes."""

from __future__ import annotations

import copy
from collections.abc import Callable

import pytest

from spaces.model.algorithm.freeze import pipeline
from spaces.model.algorithm.func import Func
from spaces.model.algorithm.image_param import ImageParam
from spaces.model.algorithm.param import Param
from spaces.model.algorithm.pipeline import Estimate, Image, ReductionVar, Scalar
from spaces.model.algorithm.rdom import RDom
from spaces.model.algorithm.var import Var
from spaces.model.expressions import functions as fn
from spaces.model.expressions.definition_error import DefinitionError
from spaces.model.expressions.expr import Call, Variable, as_expr, cast
from spaces.model.expressions.types import Float32, Int32, UInt8, UInt16

X, Y, Z = Var("x"), Var("y"), Var("z")


def image(dimensions: int = 2) -> ImageParam:
    return ImageParam(UInt8, dimensions, "input")


def defined(name: str = "f") -> Func:
    func = Func(name)
    func[X, Y] = X + Y
    return func


def test_a_pipeline_is_the_graph_of_its_definitions() -> None:
    source, gain = image(), Param(Float32, "gain", 2.0)
    f, g = Func("f"), Func("g")
    f[X, Y] = cast(UInt16, source[X, Y]) * 3
    g[X, Y] = cast(Float32, f[X, Y] + f[X - 1, Y]) * gain
    built = pipeline(g, estimates={g: [100, (2, 50)], source: [128, 64]})
    assert built.name == "g"
    assert [(h.name, h.args, str(*h.types)) for h in built.functions] == [
        ("f", ("x", "y"), "uint16"),
        ("g", ("x", "y"), "float32"),
    ]
    assert built.images == (Image("input", UInt8, 2),)
    assert built.scalars == (Scalar("gain", Float32, 2.0),)
    assert built.outputs == ("g",)
    assert built.estimates == (
        Estimate("g", ((0, 100), (2, 50))),
        Estimate("input", ((0, 128), (0, 64))),
    )
    assert [c.args for c in built.function("g").stages[0].calls] == [(X, Y), (X - 1, Y)]
    value = built.function("g").stages[0].values[0]
    call = Call(UInt16, "f", (X, Y)) + Call(UInt16, "f", (X - 1, Y))
    assert value is cast(Float32, call) * Variable(Float32, "gain")


def test_producers_stand_before_consumers() -> None:
    funcs = [Func(f"s{i}") for i in range(6)]
    funcs[0][X] = X
    for i in range(1, 6):
        funcs[i][X] = funcs[i - 1][X] + funcs[i // 2][X + 1]
    built = pipeline([funcs[5], funcs[2]])
    position = {f.name: i for i, f in enumerate(built.functions)}
    assert built.outputs == ("s5", "s2")
    for function in built.functions:
        assert all(position[c] < position[function.name] for c in function.callees)


def test_updates_have_their_rvars() -> None:
    r = RDom([(0, 3), (1, 4)], "r")
    f, source = Func("f"), image()
    f[X, Y] = cast(Int32, 0)
    f[X, Y] += source[X + r.x, Y + r.y]
    f[X, 0] = f[X, 1] * 2
    first, second = pipeline(f).function("f").stages[1:]
    assert first.rvars == (
        ReductionVar("r.x", as_expr(0), as_expr(3)),
        ReductionVar("r.y", as_expr(1), as_expr(4)),
    )
    assert first.dimensions == ("r.x", "r.y", "x", "y")
    assert second.rvars == ()
    assert second.dimensions == ("x",)
    r_x, r_y = Variable(Int32, "r.x"), Variable(Int32, "r.y")
    read = cast(Int32, Call(UInt8, "input", (X + r_x, Y + r_y)))
    assert first.values[0] is Call(Int32, "f", (X, Y)) + read


@pytest.mark.parametrize(
    ("update", "initial", "expected"),
    [
        (lambda f: f.__setitem__(X, f[X].__iadd__(X)), 0, lambda f: f + X),
        (lambda f: f.__setitem__(X, f[X].__isub__(X)), 0, lambda f: f - X),
        (lambda f: f.__setitem__(X, f[X].__imul__(X)), 1, lambda f: f * X),
        (lambda f: f.__setitem__(X, f[X].__itruediv__(X)), 1, lambda f: f / X),
    ],
)
def test_accumulating_defines_the_neutral_element(
    update: Callable[[Func], None], initial: int, expected: Callable[[Call], object]
) -> None:
    f = Func("f")
    update(f)
    pure, accumulated = pipeline(f).function("f").stages
    assert pure.values[0] is as_expr(initial)
    assert accumulated.values[0] is expected(Call(Int32, "f", (X,)))


def test_an_accumulated_reference_is_read_like_any_other() -> None:
    f, g = Func("f"), Func("g")
    f[X] = 0
    reference = f[X]
    reference += X
    g[X] = reference
    assert len(f.definitions) == 2
    assert pipeline(g).function("g").stages[0].values[0] is Call(Int32, "f", (X,))


def test_accumulating_over_an_rvar_defines_a_var() -> None:
    r, f = RDom([(0, 8)]), Func("hist")
    f[r] += 1
    built = pipeline(f).function("hist")
    assert built.args == ("_0",)
    assert built.stages[1].args == (Variable(Int32, "r.x"),)
    assert built.stages[1].dimensions == ("r.x",)


def test_accumulated_values_are_cast_and_literals_must_fit() -> None:
    f = Func("f")
    f[X] = cast(UInt8, 0)
    f[X] += X
    assert pipeline(f).function("f").stages[1].values[0] is Call(UInt8, "f", (X,)) + cast(UInt8, X)
    with pytest.raises(OverflowError, match="300 does not fit uint8"):
        f[X] += 300


def test_coordinates_become_int32() -> None:
    source = image()
    call = source[cast(UInt8, X), 3]
    assert isinstance(call, Call)
    assert [str(a.type) for a in call.args] == ["int32", "int32"]
    with pytest.raises(DefinitionError, match=r"Coordinate 0 of input, `.*`, is float32"):
        source[fn.sqrt(X), 0]


def test_anonymous_funcs_are_numbered() -> None:
    a, b, named = Func(), Func(), Func("f_1")
    a[X] = X
    b[X] = a[X]
    named[X] = b[X]
    assert [f.name for f in pipeline(named).functions] == ["f", "f_2", "f_1"]
    assert pipeline(a, estimates={a: [9]}).estimates == (Estimate("f", ((0, 9),)),)


def test_a_deep_pipeline_needs_no_deep_stack() -> None:
    func = defined("s0")
    for i in range(1, 1500):
        following = Func(f"s{i}")
        following[X, Y] = func[X, Y] + 1
        func = following
    assert len(pipeline(func).functions) == 1500


def undefined(f: Func) -> None:
    g = Func("g")
    g[X, Y] = f[X, Y] + Func("nothing")[X]


def redefined_elsewhere(f: Func) -> None:
    other = defined("f")
    g = Func("g")
    g[X, Y] = f[X, Y] + other[X, Y]
    pipeline(g)


def cycle(f: Func) -> None:
    g = Func("g")
    g[X, Y] = f[X, Y]
    f[X, Y] = g[X, Y]
    pipeline(g)


def two_rdoms(f: Func) -> None:
    a, b = RDom([(0, 3)], "a"), RDom([(0, 3)], "b")
    f[X, Y] = f[X, Y] + a + b


def two_rdoms_of_one_name(f: Func) -> None:
    f[X, Y] = f[X, Y] + RDom([(0, 3)]) + RDom([(0, 4)])


def parameter_named_as_var(f: Func) -> None:
    f[X, Y] = f[X, Y] + Param(Int32, "y")
    pipeline(f)


def func_named_as_image(f: Func) -> None:
    g = Func("input")
    g[X, Y] = image()[X, Y] + f[X, Y]
    pipeline(g)


def self_call(f: Func) -> None:
    g = Func("g")
    g[X] = g[X - 1] + 1


def rvar_in_first_definition(f: Func) -> None:
    g = Func("g")
    g[X] = X + RDom([(0, 3)])


def assign(f: Func, *coordinates: object, value: object = 1) -> None:
    f[coordinates] = value


@pytest.mark.parametrize(
    ("mistake", "message"),
    [
        (undefined, "Func nothing is called before it is defined"),
        (self_call, "Func g is called before it is defined.*an update over an RDom"),
        (cycle, "Func . depends on itself through a cycle"),
        (redefined_elsewhere, "Two different things, a Func and a Func, have the name 'f'"),
        (func_named_as_image, "things, an image and a Func, have the name 'input'"),
        (two_rdoms, r"An update of Func f uses 2 RDoms \(a, b\)"),
        (two_rdoms_of_one_name, r"An update of Func f uses 2 RDoms \(r, r\)"),
        (rvar_in_first_definition, "The first definition of Func g uses RVar r.x"),
        (parameter_named_as_var, "'y' is both a Param and a Var of Func f"),
        (lambda f: pipeline(Func("g")), "Func g is used but not defined"),
        (lambda f: pipeline([]), "at least one output"),
        (lambda f: pipeline([f, f]), "listed twice"),
        (lambda f: pipeline(f, Func("g")), "its name, a text; pass several outputs as a list"),
        (lambda f: f[X] + 1, r"Func f has 2 dimensions \(x, y\), but here it has 1 coordinates"),
        (lambda f: assign(f, X), "Func f has 2 dimensions"),
        (lambda f: assign(Func("g"), X, X), r"g\[x, x\] is not"),
        (lambda f: assign(Func("g"), X, 3), "must be at distinct Vars"),
        (lambda f: assign(Func("g"), X, value=X + Z), "Var z in the first .* Func g"),
        (lambda f: assign(f, X, 0, value=X + Y), "Var y in an update .* of Func f is not one"),
        (lambda f: assign(f, Y, X, value=Y), r"not one of its coordinates \(none\)"),
        (lambda f: assign(f, X, Y, value=fn.sqrt(X)), "has type float32, but f is int32"),
        (lambda f: image()[X], "Image input has 2 dimensions, but here it has 1"),
        (lambda f: assign(f, Y, X, value=Y), r"Vars of the first definition, f\(x, y\), each in"),
        (lambda f: pipeline("f"), "outputs of a pipeline are Funcs, but 'f' is not a Func"),
        (lambda f: pipeline(f, estimates={f: 9}), "The estimate of f is 9; give a list"),
        (lambda f: pipeline(f, estimates={f: [(0, 1, 2), 3]}), "or pairs .min, extent."),
        (lambda f: pipeline(f, estimates={f: [2.5, 3]}), "whole numbers, or pairs"),
        (lambda f: RDom(0, "s"), r"RDom s takes a list .* as in RDom\(\[\(0, 10\)\]"),
        (lambda f: RDom([5]), "RDom r takes a list with the .min, extent."),
        (lambda f: ImageParam(UInt8, "2", "name"), "'2' is not a number of dimensions"),
        (
            lambda f: Param(UInt8, "p", 300),
            "The default of Param p is 300, which uint8 cannot hold",
        ),
        (
            lambda f: Param(Int32, "p", 2.5),
            "The default of Param p is 2.5, which int32 cannot hold",
        ),
        (lambda f: RDom([]), "RDom r has 0 dimensions"),
        (lambda f: RDom([(0, 2), (X, 3)]), "RVar r.y depend on Var x, .* the same everywhere"),
        (lambda f: RDom([(0, RDom([(0, 3)], "s"))]), "RVar r.x depend on RVar s.x"),
        (lambda f: RDom([(0, f[0, 0])]), "RVar r.x call Func f"),
        (lambda f: as_expr(RDom([(0, 1), (0, 1)])), "use one of them, as in r.x"),
        (lambda f: Var("a.b"), "'a.b' cannot name a Var"),
        (lambda f: Func("2f"), "'2f' cannot name a Func"),
        (lambda f: ImageParam(UInt8, 2, ""), "'' cannot name a ImageParam"),
        (lambda f: Param(UInt8, "a b"), "'a b' cannot name a Param"),
        (lambda f: pipeline(f, estimates={"g": [1, 1]}), "an estimate for g, but .*: f"),
        (lambda f: pipeline(f, estimates={f: [1]}), "f has 2 dimensions but its estimate gives 1"),
        (lambda f: pipeline(f, estimates={f: [4, 0]}), "dimension 1 of f is 0"),
        (lambda f: Func("g").type, "Func g is called before"),
    ],
)
def test_mistakes_name_func_and_var(mistake: Callable[[Func], object], message: str) -> None:
    with pytest.raises(DefinitionError, match=message):
        mistake(defined())


@pytest.mark.parametrize("asked", ["compute_root", "parallel", "realize", "set_estimate"])
def test_a_func_says_where_directives_are(asked: str) -> None:
    with pytest.raises(AttributeError, match=f"Func f has no '{asked}'.*spaces.schedule.p..func"):
        getattr(defined(), asked)


def test_a_func_is_copied_as_any_object() -> None:
    func = defined()
    assert copy.copy(func).definitions is func.definitions


def test_rdoms_have_the_vars_of_their_dimensions() -> None:
    r = RDom([(0, 2), (0, 3)], "k")
    assert [r.x.name, r.y.name, r[1].name] == ["k.x", "k.y", "k.y"]
    with pytest.raises(AttributeError, match=r"RDom k has no 'z'; it has k\.x, k\.y"):
        _ = r.z


def test_sizes_of_images_are_variables() -> None:
    source = image(3)
    assert (source.width().type, str(source.width())) == (Int32, "input.extent.0")
    assert source.height() is source.extent(1)
    assert source.channels() is source.extent(2)
    f = Func("f")
    f[X] = X + source.width() + source.min(1)
    assert [i.name for i in pipeline(f).images] == ["input"]


def test_select_of_tuples_selects_each_component() -> None:
    f, x = Func("f"), X
    f[x] = (x, x * 2)
    assert fn.select(x > 2, f[x], (7, 8)) == tuple(
        fn.select(x > 2, f[x][c], v) for c, v in enumerate((7, 8))
    )
    assert fn.select((x > 2, x > 3), (1, 2), x < 0, f[x], (5, 6)) == (
        fn.select(x > 2, 1, x < 0, f[x][0], 5),
        fn.select(x > 3, 2, x < 0, f[x][1], 6),
    )
    for wrong in (
        lambda: fn.select(x > 2, (1, 2), 0),
        lambda: fn.select(x > 2, (1, 2), (1, 2, 3)),
        lambda: fn.select((x > 2, x > 3), 1, 2),
    ):
        with pytest.raises(TypeError, match="Tuples of one size"):
            wrong()
