"""The tables of planted bugs."""

from bench import planted

_NONE = {"planted": 0, "killed": 0, "out of time": 0, "survived": 0, "not run": 0, "equivalent": 0}
_PACKAGES = {
    "by hand": {**_NONE, "possible": 2, "planted": 2, "killed": 2},
    "spaces/cost": {
        "possible": 1000, "planted": 14, "killed": 5, "out of time": 4, "survived": 2,
        "not run": 1, "equivalent": 2,
    },
    "spaces/model": {**_NONE, "possible": 500},
}  # fmt: skip


def test_what_never_ends_is_noticed_and_what_no_test_runs_is_not() -> None:
    (cost,) = planted.of_packages(_PACKAGES)
    assert dict(zip(planted.HEADERS, cost, strict=True)) == {
        "package": "`spaces/cost`", "possible": "1,000", "drawn": "14",
        "noticed": "9", "unnoticed": "2", "by no test": "1", "equivalent": "2",
    }  # fmt: skip
    by_hand, changes = planted.rows(_PACKAGES)
    assert by_hand[1:] == ("2", "tests notice 2; no test runs the lines of 0")
    assert "drawn from 1,500" in changes[0]
    assert changes[1:] == ("14", "tests notice 9; no test runs the lines of 1; nobody can see 2")
