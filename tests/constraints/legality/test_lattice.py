"""Masks over lattices of tile sizes, compared with the verdict on each member."""

import itertools

import numpy as np
import pytest

from spaces import device, legal_mask, parse_schedule, verify
from spaces.constraints.examples import algorithms
from spaces.constraints.legality import lattice
from spaces.constraints.legality.lattice import judged_conditions
from spaces.constraints.legality.legal_count import legal_count
from spaces.model.algorithm import freeze
from spaces.model.algorithm.func import Func
from spaces.model.algorithm.image_param import ImageParam
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.algorithm.var import Var
from spaces.model.directives.directives import Directives, schedule
from spaces.model.expressions.expr import Variable, constant
from spaces.model.expressions.types import Int32
from spaces.model.formulas.instructions import NotNativeError
from spaces.model.formulas.native import all_hold
from spaces.model.schedules.domain_order import Tail
from spaces.model.schedules.parameters import bind, parameters
from tests.constraints import pipelines

BLUR = algorithms.blur(96, 64)
D = schedule(BLUR)
TILES = D.tile("x", "y", "xi", "yi", "tx", "ty")
BLOCKS = D.gpu_tile("x", "y", "xi", "yi", "tx", "ty").func("bx").compute_at("by", "x")
SEGMENT = pipelines.segment()

LATTICES: dict[str, tuple[Pipeline, Directives, str, dict[str, list[int]]]] = {
    "tiles larger than the image": (BLUR, TILES, "cpu", {"tx": [1, 96, 97], "ty": [0, 64, 65]}),
    "vectors": (
        BLUR,
        TILES.vectorize("xi", "v").func("bx").compute_at("by", "yi").vectorize("x", "w"),
        "cpu",
        {"tx": [4, 8, 12], "ty": [2, 64], "v": [1, 3, 8], "w": [4, 16]},
    ),
    "folded windows": (
        BLUR,
        TILES.func("bx").store_at("by", "x").compute_at("by", "yi").fold_storage("y", "k"),
        "cpu",
        {"tx": [8], "ty": [1, 2, 8], "k": [0, 1, 2, 3, 4]},
    ),
    "rounded tails": (
        BLUR,
        D.split("x", "x", "xi", "tx", "round_up"),
        "cpu",
        {"tx": [1, 7, 32, 36, 48, 96, 97]},
    ),
    "threads widened by a stencil": (
        BLUR,
        BLOCKS.gpu_threads("x", "y"),
        "sm_75",
        {"tx": [1, 8, 32, 64], "ty": [1, 14, 15, 16, 30, 31, 62]},
    ),
    "splits of splits": (
        BLUR,
        D.split("x", "xo", "xi", "a")
        .split("xo", "xoo", "xoi", "b")
        .split("xoo", "t", "u", "c")
        .reorder("u", "xoi", "t", "xi", "y"),
        "cpu",
        {"a": [1, 4, 16, 96, 97], "b": [2, 4, 8, 32], "c": [1, 2, 8, 16]},
    ),
    # A factor that divides 96 needs no tail, so nothing stops the rounds of the second split.
    **{
        f"tails that are dropped, {tail}": (
            BLUR,
            D.bound("x", 0, 96)
            .split("x", "xo", "xi", "a", tail)
            .split("xo", "xoo", "xoi", "b", Tail.ROUND_UP)
            .reorder("xi", "xoi", "xoo", "y"),
            "cpu",
            {"a": [1, 7, 16, 48, 96, 97], "b": [1, 2, 3, 6, 64]},
        )
        for tail in (Tail.SHIFT_INWARDS, Tail.GUARD_WITH_IF, Tail.PREDICATE_LOADS)
    },
    "guarded tiles": (
        BLUR,
        D.gpu_tile("x", "y", "xi", "yi", "tx", "ty", Tail.GUARD_WITH_IF)
        .func("bx")
        .compute_at("by", "x")
        .gpu_threads("x", "y"),
        "sm_75",
        {"tx": [8, 32, 64], "ty": [4, 14, 15, 30, 31]},
    ),
    "shared memory": (
        BLUR,
        D.split("x", "x", "xi", 32)
        .split("y", "y", "yi", "ty")
        .reorder("xi", "yi", "x", "y")
        .gpu_blocks("x", "y")
        .gpu_threads("xi")
        .func("bx")
        .compute_at("by", "x"),
        "sm_75",
        {"ty": [1, 64]},
    ),
    "two producers": (
        SEGMENT,
        schedule(SEGMENT)
        .gpu_tile("x", "y", "xi", "yi", "tx", "ty")
        .func("W")
        .compute_at("Z", "x")
        .gpu_threads("x", "y")
        .func("K")
        .compute_at("Z", "x")
        .gpu_threads("x", "y")
        .func("E")
        .compute_root(),
        "sm_75",
        {"tx": [4, 16, 32, 64, 128], "ty": [4, 12, 28, 29, 60]},
    ),
}


@pytest.fixture(params=["arrays", "machine code"])
def reading(request, monkeypatch):
    if request.param == "machine code":
        monkeypatch.setattr(lattice, "MANY", 0)


@pytest.mark.usefixtures("reading")
@pytest.mark.parametrize("name", LATTICES)
def test_mask_is_one_verdict_a_point(name: str):
    pipeline, directives, on, menus = LATTICES[name]
    structure = directives.schedule
    axes = np.meshgrid(*menus.values(), indexing="ij")
    mask = legal_mask(pipeline, structure, device(on), dict(zip(menus, axes, strict=True)))
    expected = [
        verify(pipeline, bind(structure, dict(zip(menus, point, strict=True))), device(on)).legal
        for point in itertools.product(*menus.values())
    ]
    assert mask.shape == tuple(map(len, menus.values()))
    assert mask.ravel().tolist() == expected
    assert any(expected)


@pytest.mark.parametrize("reach", [1, 2, 3])
@pytest.mark.parametrize("room", [0, 1])
def test_extents_with_sizes_show_what_divides_them(reach: int, room: int):
    """Two divides ``2 * size + 2``, so a split by two has no tail, and the second split of the loop
    takes it too far.
    """
    x, image, f, g = Var("x"), ImageParam(Int32, 1, "image"), Func("f"), Func("g")
    f[x] = image[x]
    g[x] = f[2 * x] + f[2 * x + reach]
    pipe = freeze.pipeline(g, estimates={g: [12], image: [23 + reach + room]})
    chosen = schedule(pipe).func("f").compute_root().split("x", "xo", "xi", "a")
    chosen = chosen.split("xo", "xoo", "xoi", "b", Tail.ROUND_UP).reorder("xi", "xoi", "xoo")
    columns = {"a": np.array([[1], [2], [3], [5]]), "b": np.array([[1, 2, 7]])}
    mask = legal_mask(pipe, chosen.schedule, device("cpu"), columns)
    for place, is_legal in np.ndenumerate(mask):
        numbers = {"a": int(columns["a"][place[0], 0]), "b": int(columns["b"][0, place[1]])}
        verdict = verify(pipe, bind(chosen.schedule, numbers), device("cpu"))
        assert verdict.legal or not is_legal, numbers
    assert mask.any()
    assert not mask.all()


@pytest.mark.parametrize("name", LATTICES)
def test_the_count_is_that_of_the_mask(name: str):
    pipeline, directives, on, menus = LATTICES[name]
    structure = directives.schedule
    axes = np.ix_(*menus.values())
    mask = legal_mask(pipeline, structure, device(on), dict(zip(menus, axes, strict=True)))
    judged = judged_conditions(pipeline, structure, device(on))
    assert legal_count(judged, menus) == mask.sum()


def test_factors_that_no_condition_relates_are_counted_apart(monkeypatch):
    a, b, c, d, size = (Variable(Int32, name) for name in ("a", "b", "c", "d", "size"))
    menus = {"a": (1, 2, 3), "b": (1, 2, 3), "c": (5, 6), "d": range(1000)}
    unknown = Variable(Int32, "unknown")
    conditions = [
        ((a + b <= 4, c <= size), {"size": 5}),
        ((b != 2, constant(2, Int32) <= size, a <= unknown), {"size": 2}),
    ]
    pairs = [(1, 1), (1, 3), (2, 1), (3, 1)]
    assert legal_count(conditions, menus) == len(pairs) * 1 * 1000
    assert legal_count([*conditions, ((size > 7,), {"size": 7})], menus) == 0
    assert legal_count([*conditions, ((d >= 990,), {})], menus) == len(pairs) * 10
    monkeypatch.setattr("spaces.constraints.legality.legal_count.MOST_RELATED", 8)
    assert legal_count(conditions, {name: menus[name] for name in "abc"}) is None


def test_mask_broadcasts():
    mask = legal_mask(
        BLUR, TILES.schedule, device("cpu"), {"tx": [[1], [97]], "ty": np.array([1, 64, 65])}
    )
    assert mask.tolist() == [[True, True, False], [False, False, False]]


def test_a_structure_that_no_number_saves_is_all_illegal():
    mask = legal_mask(BLUR, TILES.gpu_threads("xi").schedule, device("cpu"), {"tx": [1], "ty": [1]})
    assert mask.tolist() == [False]


def test_a_structure_without_parameters_has_one_point():
    assert legal_mask(BLUR, D.schedule, device("cpu"), {}).shape == ()
    assert legal_mask(BLUR, D.schedule, device("cpu"), {})


def test_parameters_without_values_are_named():
    with pytest.raises(ValueError, match="parameters ty"):
        legal_mask(BLUR, TILES.schedule, device("cpu"), {"tx": [1]})


def test_a_million_tiles_are_judged_without_a_loop_over_them():
    side = np.arange(1, 1001)
    mask = legal_mask(
        BLUR,
        BLOCKS.gpu_threads("x", "y").schedule,
        device("sm_75"),
        {"tx": side[:, None], "ty": side},
    )
    assert mask.shape == (1000, 1000)
    # A block has tx x (ty + 2) threads; the tiles that fit the 96 x 64 output are counted by hand.
    assert mask.sum() == sum(min(64, 1024 // tx - 2) for tx in range(1, 97) if 1024 // tx > 2)


def test_numbers_beyond_machine_words_leave_a_large_lattice_to_arrays(monkeypatch):
    """A huge size is a constant that int64 does not hold."""
    n, size = Variable(Int32, "n"), Variable(Int32, "size")
    at = {"n": np.array([1, 2, 3]), "size": 1 << 62}
    with pytest.raises(NotNativeError, match="9223372036854775808 has more than 64 bits"):
        all_hold([n * (size * 2) >= size], at)
    monkeypatch.setattr(lattice, "MANY", 0)
    assert lattice.holding([n * (size * 2) >= size * 5], at, (3,)).tolist() == [False, False, True]


def test_factors_of_specializations_are_numbers_of_the_family_too():
    """64 x 16 threads are a block of a GPU; 64 x 17 are none, wherever they are launched."""
    text = "by.specialize(by.width() >= 512).gpu_tile(x, y, xi, yi, 64, n); by.parallel(y);"
    family, gpu = parse_schedule(text, BLUR), device("sm_80")
    assert parameters(family) == ("n",)
    assert legal_mask(BLUR, family, gpu, {"n": [1, 16, 17]}).tolist() == [True, True, False]
    assert bind(family, {"n": 16}) == parse_schedule(text.replace("n)", "16)"), BLUR)
    assert not legal_mask(BLUR, family, device("cpu"), {"n": [1]}).any()


def test_numbers_change_nothing_but_factors():
    text = "by.tile(x, y, xi, yi, {0}, 8).never_partition(x).prefetch(input, y, y, 2);"
    family = parse_schedule(text.format("n"), BLUR)
    assert bind(family, {"n": 32}) == parse_schedule(text.format(32), BLUR)
