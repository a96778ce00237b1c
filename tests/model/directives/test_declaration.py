"""What the signature of a directive gives: its usage line, and the call that makes a record."""

import inspect

import pytest
from attrs import evolve

from spaces import Directives, LoopAlign, OrderedLoop, PrefetchBound, Split, StageOf, Tail
from spaces.model.directives.declaration import DIRECTIVES, ArgumentKind, Directive
from spaces.model.schedules.domain_order import Prefetch
from spaces.model.schedules.schedule import Alignment, Bound, Companion, Fold, Pad, StorageBound
from spaces.model.writing.calls import call_of
from spaces.model.writing.text import format_call

USAGES = [
    "split(old, outer, inner, factor[, tail])",
    "vectorize(loop[, factor[, tail]])",
    "prefetch(f, at, from[, offset[, PrefetchBoundStrategy::GuardWithIf]])",
    "compute_with(f.update(0), loop[, LoopAlignStrategy::AlignStart])",
    "compute_at(f, loop)",
    "store_in(MemoryType::Stack)",
    'specialize_fail("message")',
    "gpu_single_thread()",
]


@pytest.mark.parametrize("usage", USAGES)
def test_a_usage_line_shows_the_parameters_of_the_method(usage):
    assert DIRECTIVES[usage.partition("(")[0]].usage == usage


OTHER, ENDS = StageOf("g", 1), (("y", LoopAlign.ALIGN_END),)
CALLS = {
    "split(x, xo, xi, 8)": Split("x", "xo", "xi", 8),
    "split(x, xo, xi, 8, TailStrategy::RoundUp)": Split("x", "xo", "xi", 8, Tail.ROUND_UP),
    "prefetch(g, x, y, 1)": Prefetch("g", "x", "y"),
    "prefetch(g, x, y, 2, PrefetchBoundStrategy::Clamp)": Prefetch(
        "g", "x", "y", 2, PrefetchBound.CLAMP
    ),
    "fold_storage(x, 4)": Fold("x", 4),
    "fold_storage(x, 4, false)": Fold("x", 4, False),
    "align_storage(x, 16)": Pad("x", 16),
    "bound_storage(x, 64)": StorageBound("x", 64),
    "bound(x, 0, 64)": Bound("x", 0, 64),
    "bound_extent(x, 64)": Bound("x", None, 64),
    "align_bounds(x, 8)": Alignment("x", 8),
    "align_bounds(x, 8, 3)": Alignment("x", 8, 3),
    "align_extent(x, 8)": Alignment("x", 8, None),
    "compute_with(g.update(0), y)": Companion(OTHER, "y"),
    "compute_with(g.update(0), y, LoopAlignStrategy::AlignEnd)": Companion(OTHER, "y", ENDS),
    "compute_with(g.update(0), x, {{y, LoopAlignStrategy::AlignEnd}})": Companion(OTHER, "x", ENDS),
}


@pytest.mark.parametrize("text", CALLS)
def test_a_record_is_written_as_the_call_that_makes_it(text):
    assert format_call(call_of(CALLS[text])) == text


def test_what_no_directive_makes_is_refused():
    with pytest.raises(TypeError, match="No directive makes"):
        call_of(OrderedLoop("x"))


def test_a_declared_method_keeps_its_signature_and_its_words():
    found = inspect.signature(Directives.prefetch).parameters["offset"]
    assert (found.annotation, found.default) == ("int", 1)
    assert (inspect.getdoc(Directives.prefetch) or "").startswith("At the beginning of each")


def test_the_help_of_a_directive_is_the_first_paragraph_of_its_docstring():
    assert DIRECTIVES["serial"].help == "Execute the iterations in order."
    assert DIRECTIVES["rename"].help.startswith("Give another name to a loop")
    assert "\n" not in DIRECTIVES["rename"].help
    assert "Raises" not in DIRECTIVES["rename"].help


def test_a_default_before_another_argument_is_written():
    _, factor, tail = DIRECTIVES["vectorize"].parameters
    both = Directive("both", (evolve(factor, default=8), tail), (), Split, "", "")
    assert both.arguments(Split("x", "xo", "xi", 8, Tail.ROUND_UP)) == (8, Tail.ROUND_UP)
    assert both.arguments(Split("x", "xo", "xi", 8)) == ()


def test_an_argument_has_the_kinds_of_its_own_parameter():
    assert DIRECTIVES["split"].kinds(2) == (ArgumentKind.LOOP,)
    assert DIRECTIVES["split"].kinds(3) == (ArgumentKind.FACTOR,)
    assert DIRECTIVES["gpu_blocks"].kinds(2) == (ArgumentKind.LOOP,)


def test_directives_that_take_a_level_or_add_a_func():
    levels = {name for name, one in DIRECTIVES.items() if one.takes_level}
    assert levels == {"compute_at", "store_at", "hoist_storage"}
    adding = {name for name, one in DIRECTIVES.items() if one.adds_func}
    assert adding == {"in_", "clone_in", "rfactor"}
