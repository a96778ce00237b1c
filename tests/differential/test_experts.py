"""Updates and small tables under schedules as experts write them compute the reference."""

from __future__ import annotations

import random

import pytest

from spaces.model.schedules.domain_order import Split, Tail
from spaces.model.writing.text import format_schedule
from tests.differential.expert_schedules import expert_schedule
from tests.differential.experts import DRAWN, check_case, legal_case
from tests.differential.subjects import subject_of_family
from tests.differential.tuned import TUNED
from tests.draw_counts import examples

CASES = {
    **dict.fromkeys(DRAWN, examples(10, fewest=2)),
    **dict.fromkeys(TUNED, examples(40, fewest=8)),
    "products": examples(80, fewest=16),
}
"""How many of each kind. Families of the fuzzer have such schedules in its cases, too; and sums of
products are kept in registers while their producers slide.
"""


@pytest.mark.parametrize("kind", DRAWN)
def test_updates_in_blocks_compute_the_reference(kind: str) -> None:
    kept = 0
    for number in range(CASES[kind]):
        oracle, verdict = legal_case(random.Random(f"{kind} {number}"), kind)
        try:
            compiled = check_case(oracle, verdict, optimised=number % 5 == 4)
        except Exception as error:
            error.add_note(format_schedule(verdict.schedule, oracle.subject.pipeline))
            raise
        kept += ".kept." in compiled.program_text("keep_sums")
    assert kept or kind != "products"


def test_every_tail_is_drawn_for_tables_in_turns() -> None:
    rng = random.Random("tails")
    tails: set[Tail] = set()
    for _ in range(60):
        pipeline = subject_of_family(rng, "turns", TUNED["turns"](rng)).pipeline
        for func in expert_schedule(rng, pipeline).funcs:
            splits = (one for stage in func.stages for one in stage.splits)
            tails.update(one.tail for one in splits if isinstance(one, Split))
    assert tails == {*Tail}
