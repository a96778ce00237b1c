"""Bugs in search strategies, and in the prices that they go by."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

_BEST_FIRST = ("test_best_first.py",)
_POLISHING = ("test_polishing.py",)
_GENETIC = ("test_genetic.py",)
_BASELINES = ("test_baselines.py",)
_NESTS = ("test_changed_nests.py",)
_RECURRING = ("test_recurring.py",)
_PHASES = ("test_promising.py",)
_CLONES = ("test_cloning.py",)
_SEARCHES = ("test_search.py",)
_FREEZING = ("test_freezing.py",)
_TOTALS = ("test_totals.py",)
_PRICES = ("cost/test_reuse.py",)
_ORDERS = ("test_storage_order.py",)
_GPU_PATTERNS = ("test_gpu_patterns.py",)
_ANNEALING = ("test_annealing.py",)
_BOUNDS = ("test_lower_bound.py",)

SEARCHING = (
    Mutant(
        "bounds-are-forgotten",
        "best_first:_promising",
        "max(bound, partial.bound(model))",
        "partial.bound(model)",
        "A partial schedule loses the bound of the one from which it follows.",
        _BEST_FIRST,
    ),
    Mutant(
        "illegal-partials-stay-open",
        "best_first:_promising",
        "not partial.can_be_legal",
        "False",
        "What cannot be legal is opened all the same.",
        _BEST_FIRST,
    ),
    Mutant(
        "pruned-beyond-the-worst",
        "best_first:_promising",
        "own >= board.worst",
        "own * 2 >= board.worst",
        "The certificate holds for schedules that nobody looked at.",
        _BEST_FIRST,
    ),
    Mutant(
        "crosses-keep-one-parent",
        "Offspring.crossed",
        "(self.parent(parents) for _ in range(2))",
        "[self.parent(parents)] * 2",
        "A cross of two schedules takes both parts from one of them.",
        _GENETIC,
    ),
    Mutant(
        "late-improvements-count-like-early-ones",
        "Credits.of",
        "sum(place for place, improved in enumerate(own, start=1) if improved)",
        "sum(1 for place, improved in enumerate(own, start=1) if improved)",
        "The credit of a move does not depend on when it improved the best schedule.",
        _BASELINES,
    ),
    Mutant(
        "unused-moves-have-no-credit",
        "Credits.of",
        "math.inf",
        "0.0",
        "A move that was never tried comes last.",
        _BASELINES,
    ),
    Mutant(
        "inlined-funcs-run-in-one-nest",
        "nests_of_funcs",
        "nests_of_readers(pipeline, nests, name)",
        "frozenset(list(nests_of_readers(pipeline, nests, name))[:1])",
        "A Func inlined into several nests changes only one of them.",
        _CLONES,
    ),
    Mutant(
        "some-nests-are-left-out",
        "changed_nests:nests_of",
        "found & roots",
        "found <= roots",
        "Funcs inlined into changed nests and others are not priced again.",
        _NESTS,
    ),
    Mutant(
        "extents-do-not-matter",
        "recurring:_similar",
        "math.floor(_PER_DOUBLING * math.log2(max(extent, 1)))",
        "0",
        "A decision about a small Func recurs for a large one.",
        _RECURRING,
    ),
    Mutant(
        "cheapest-levels-come-last",
        "priced_in_phases",
        "levels[:kept]",
        "levels[-kept:]",
        "All store levels are priced for the dearest compute levels.",
        _PHASES,
    ),
    Mutant(
        "narrow-windows-come-first",
        "priced_in_phases",
        "cost(group[-1])",
        "cost(group[0])",
        "A compute level is judged without a window that slides.",
        _PHASES,
    ),
    Mutant(
        "last-nests-are-cloned-for",
        "clones_for_nests",
        "_last, *others = (one for one in nests if one in read_in)",
        "*others, _last = (one for one in nests if one in read_in)",
        "The nest that runs first keeps the Func, and all others read clones.",
        _CLONES,
    ),
    Mutant(
        "inlined-funcs-are-cloned",
        "clones_for_nests",
        "name in pipeline.outputs or not by_name[name].compute.is_root",
        "name in pipeline.outputs",
        "Funcs get clones that nothing stores.",
        _CLONES,
    ),
    Mutant(
        "lanes-do-not-matter",
        "is_read_in_lanes",
        "loop.kind is LoopKind.VECTORIZED",
        "True",
        "A Func is inlined into a reader that runs value by value.",
        _SEARCHES,
    ),
    Mutant(
        "cheap-funcs-stay-open",
        "freezing:_frozen",
        "decided[: max(len(decided) - most, 0)]",
        "decided[most:]",
        "The search freezes the Funcs that add most to the cost.",
        _FREEZING,
    ),
    Mutant(
        "first-iterations-count-twice",
        "Totals._parts",
        "simplify(loop.extent - 1)",
        "simplify(loop.extent)",
        "A sum over a loop has an iteration too many.",
        _TOTALS,
    ),
    Mutant(
        "whole-rows-do-not-join",
        "traffic:rows_of",
        "joins & np.greater_equal(extent, limit)",
        "False",
        "Only two dimensions of a buffer that is touched whole make one row.",
        _PRICES,
    ),
    Mutant(
        "parts-of-rows-join",
        "traffic:rows_of",
        "np.greater_equal(extents[0], whole[0])",
        "np.greater_equal(2 * extents[0], whole[0])",
        "Half a row and the next half of another one are one row.",
        _PRICES,
    ),
    Mutant(
        "cores-allocate-one-by-one",
        "Reuse.allocating",
        "func.allocations * each / self._cores_busy(around)",
        "func.allocations * each",
        "Allocations of one core wait for those of others.",
        _PRICES,
    ),
    Mutant(
        "stored-sums-do-not-wait",
        "Reuse._compute",
        "self.prices.forwarding * written",
        "0",
        "A sum that is stored and loaded again is as quick as one in a register.",
        _PRICES,
    ),
    Mutant(
        "bounds-take-the-rows-of-a-visit",
        "Traffic.least",
        "np.minimum(*map(price, self.regions.least(stage, buffer, depth)))",
        "price(self.regions.footprint(stage, buffer, depth))",
        "A lower bound does not know that rows which are touched whole join.",
        _BOUNDS,
    ),
    Mutant(
        "storage-lies-as-written",
        "Features._orders",
        "entries[one.name].storage_orders",
        "()",
        "Prices do not know that the dimensions of a Func lie in another order.",
        _ORDERS,
    ),
    Mutant(
        "open-funcs-keep-their-order",
        "lower_bound:_changes_readers",
        'not is_output and "reorder_storage" in state.choices.directives',
        "False",
        "A lower bound counts loads from an open Func that may get another order in memory.",
        _BOUNDS,
    ),
    Mutant(
        "values-of-a-thread-share-nothing",
        "OccupancyModel._loads",
        "copies_that_share(stage.own, access.moved_by)",
        "1",
        "Eight values of a thread load eight times what they have in common.",
        _GPU_PATTERNS,
    ),
    Mutant(
        "blocks-unroll",
        "menus:fits",
        "LoopKind.GPU_THREAD in kinds",
        "True",
        "All values that a block needs are written out.",
        _GPU_PATTERNS,
    ),
    Mutant(
        "negative-costs-are-ratios",
        "annealing:is_taken",
        "(cost - current) / abs(current)",
        "cost / current - 1",
        "Annealing takes what is worse than a negative cost for better.",
        _ANNEALING,
    ),
    Mutant(
        "some-nests-always-decide",
        "polished",
        "again.cost > state.cost",
        "False",
        "Numbers that some nests prefer stay, though the whole schedule costs more.",
        _POLISHING,
    ),
    Mutant(
        "tiles-never-reach-far",
        "may_reach_far",
        "rounded > OVERREACH * extent",
        "False",
        "Tiles larger than a Func are chosen without a look at what it reads.",
        _POLISHING,
    ),
    Mutant(
        "updates-move-inwards",
        "may_reach_far",
        "-(-extent // tile) * tile if index else max(extent, tile)",
        "max(extent, tile)",
        "The last tile of an update counts as if it did not reach beyond.",
        _POLISHING,
    ),
    Mutant(
        "outputs-add-what-is-read-of-them",
        "added_costs",
        "name not in pipeline.outputs",
        "True",
        "An output that another one reads adds only the cost of the part that is read.",
        _FREEZING,
    ),
)
