"""A few bugs by hand are noticed: bugs reach the code that tests run, and tests look at it."""

from __future__ import annotations

from itertools import chain

from tests.mutants.by_hand import MUTANTS
from tests.mutants.collected import collected
from tests.mutants.workshop import ROOT, Workshop

_NOTICED_BY = {
    "missing-values-are-right": "tests/backend/replay/test_orders.py::"
    "test_output_values_that_are_never_computed_are_wrong",
    "loop-carried-barrier-forgotten": "tests/backend/cuda/test_barriers_of_programs.py::"
    "test_a_barrier_stands_where_threads_meet_in_memory",
    "occupancy-without-reserve": "tests/constraints/devices/test_occupancy.py::"
    "test_the_scarce_resource_differs_between_devices",
    "hoisted-for-one-iteration": "tests/model/nest/test_hoisting.py::"
    "test_the_most_of_all_iterations_is_obtained",
    "float-sums-in-any-order": "tests/constraints/dependences/test_hazards.py::"
    "test_float_sums_are_ordered_and_float_maxima_are_not",
    "stored-one-after-the-other": "tests/backend/test_tuples.py::"
    "test_values_change_places_under_every_schedule",
}
"""A test that notices it, of bugs that one quick test notices."""


def test_bugs_are_noticed() -> None:
    """Each by the test that passes without any. Bugs are planted in forks, and in no file."""
    bugs = {mutant.name: mutant.planted(ROOT) for mutant in MUTANTS if mutant.name in _NOTICED_BY}
    files = sorted({test.partition("::")[0] for test in _NOTICED_BY.values()})
    with collected(Workshop(ROOT, ""), *files) as server:
        noticing = {
            name: [test for test in server.tests if test.startswith(start)]
            for name, start in _NOTICED_BY.items()
        }
        assert server.run([*chain(*noticing.values())], 300.0).end == "passed"
        ends = {name: server.run(tests, 300.0, bugs[name]).end for name, tests in noticing.items()}
    assert ends == dict.fromkeys(_NOTICED_BY, "failed")
