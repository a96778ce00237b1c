"""The page of the rules is what its generator makes of them."""

import tomllib

from docs.rules import HALIDE, PAGE, page
from spaces.constraints.rules.catalogue import ADVICE, RULES


def test_the_page_of_the_rules_is_up_to_date():
    made = page()
    assert PAGE.read_text("utf-8") == made, "python -m docs.rules makes it anew"
    for rule in (*RULES, *ADVICE):
        assert f"### `{rule.id}`" in made
        assert rule.statement in made


def test_what_halide_refuses_is_covered_by_rules_or_explained():
    known = {rule.id for rule in (*RULES, *ADVICE)}
    checks = tomllib.loads(HALIDE.read_text("utf-8"))["check"]
    assert len({check["what"] for check in checks}) == len(checks) > 50
    for check in checks:
        assert set(check["rules"]) <= known
        assert check["rules"] or check["note"]
