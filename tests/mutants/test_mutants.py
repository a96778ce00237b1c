"""Every bug by hand still fits the code, and changes of functions are planted and noticed."""

from __future__ import annotations

import ast
import json
import shutil
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.mutants import __main__ as command
from tests.mutants import covering, report
from tests.mutants.by_hand import MUTANTS
from tests.mutants.choosing import drawn
from tests.mutants.collected import Collected, collected
from tests.mutants.definitions import Definition, functions, in_text
from tests.mutants.mutant import DoesNotApplyError, Mutant, TextMutant
from tests.mutants.mutations import mutations
from tests.mutants.trial import Trial, attempt
from tests.mutants.workshop import ROOT, Workshop


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda m: m.name)
def test_applies_once_and_still_parses(mutant: Mutant) -> None:
    """And is none of the small changes, which are made anyway."""
    planted = mutant.planted(ROOT)
    changed = ast.unparse(ast.fix_missing_locations(planted.changed))
    assert changed != ast.unparse(planted.definition.node)
    assert ast.unparse(ast.parse(changed)) == changed
    small = (ast.dump(bug.changed) for bug in mutations(planted.definition))
    assert ast.dump(planted.changed) not in small
    assert len(set(mutant.paths(ROOT))) == len(mutant.tests)


def test_no_two_are_the_same() -> None:
    names = Counter(m.name for m in MUTANTS)
    changes = Counter((m.where, m.old, m.new) for m in MUTANTS)
    assert [n for n, times in (names + changes).items() if times > 1] == []


def test_what_does_not_apply_is_said(tmp_path: Path) -> None:
    (tmp_path / "spaces").mkdir()
    (tmp_path / "spaces" / "f.py").write_text("def f(a):\n    return a + g(a)\n")
    assert "return b + g(a)" in _mutant("f", "a + g(a)", "b + g(a)").planted(tmp_path).text
    with pytest.raises(
        DoesNotApplyError, match=r"occurs 2 times:\na\n\nf now is\nspaces/f\.py:1\n"
    ):
        _mutant("f", "a", "b").planted(tmp_path)
    with pytest.raises(DoesNotApplyError, match="occurs 0 times"):
        _mutant("f", "c", "b").planted(tmp_path)
    with pytest.raises(DoesNotApplyError, match=r"stands in f \(spaces/f\.py:1\)"):
        _mutant("g", "a + g(a)", "b").planted(tmp_path)
    with pytest.raises(DoesNotApplyError, match=r"nothing is called g:f .* define f are spaces\.f"):
        _mutant("g:f", "a", "b").planted(tmp_path)
    with pytest.raises(DoesNotApplyError, match="a fragment is not Python"):
        _mutant("f", "a b", "b").planted(tmp_path)
    with pytest.raises(DoesNotApplyError, match="more wildcards"):
        _mutant("f", "a + g(a)", "b + ...").planted(tmp_path)


def test_where_code_lies_and_how_it_is_laid_out_do_not_matter() -> None:
    """Only what a function means is part of the key of a result."""
    alike = (
        "def f(a):\n    return a + 1\n",
        "x = 1\ndef f(a):\n    return (a  # Why.\n        +1)",
        'def f(a):\n    """What f gives."""\n    return a + 1\n',
    )
    other = ("def f(a):\n    return a + 1, a\n", "def g(a):\n    return a + 1\n")
    keys = [mutations(_last(f"spaces/{n}.py", text))[0].key for n, text in enumerate(alike + other)]
    assert len(set(keys[:3])) == 1
    assert len(set(keys)) == 3


def _last(path: str, text: str) -> Definition:
    return list(in_text(path, text))[-1]


def test_methods_keep_their_depth(tmp_path: Path) -> None:
    (tmp_path / "apps").mkdir()
    method = '    @property\n    def f(self):\n        """F\n        f."""\n        return 1\n'
    text = f"class C:\n{method}\nx = 1\n"
    (tmp_path / "apps" / "c.py").write_text(text)
    planted = _mutant("C.f", "1", "2").planted(tmp_path).text
    assert ast.dump(ast.parse(planted)) == ast.dump(ast.parse(text.replace("return 1", "return 2")))


def test_text_inside_of_strings(tmp_path: Path) -> None:
    (tmp_path / "backend").mkdir()
    (tmp_path / "backend" / "c.py").write_text('C = """if (x) y;\n" y;"""\n')
    mutant = TextMutant("m", "C", "(x)", "(!x)", "why", ("test_t.py",))
    assert ast.literal_eval(ast.parse(mutant.planted(tmp_path).text).body[0].value) == (  # type: ignore[attr-defined]
        'if (!x) y;\n" y;'
    )
    with pytest.raises(DoesNotApplyError, match="occurs 2 times"):
        TextMutant("m", "C", " y;", "", "why", ("test_t.py",)).planted(tmp_path)


_FUNCTION = '''
class C:
    @decorated(1)
    def f(self, a: int, *, b: int = 2) -> int:
        """What f gives: 3."""
        if a < b and not self.off:
            raise ValueError(f"{a + 1} is below {b}.")
        word = "a word" if a < b else ""
        for i in range(a):
            self.seen = zip(i, i, strict=True)
            a += min(i, 5)
        self.most = range(a, b, a)
        return -a if self.off is None else a // 2

    def __repr__(self) -> str:
        return "C" + "()"
'''


def test_small_changes_of_a_function() -> None:
    (_, f, *_, printed) = in_text("spaces/c.py", _FUNCTION)
    assert [bug.name.removeprefix("spaces.c:C.f: ") for bug in mutations(f)] == [
        "`if a < b and (not self.off): …`: case forgotten",
        "`a < b and (not self.off)`: `or`",
        "`a < b`: `a <= b`",
        "`a < b`: `a >= b`",
        "`not self.off`: without its sign",
        "`raise ValueError(f'{a + 1} is below {b}.')`: left out",
        "`a < b`: `a <= b` (2)",
        "`a < b`: `a >= b` (2)",
        "`range(a)`: one less",
        "`self.seen = zip(i, i, strict=True)`: left out",
        "`a += min(i, 5)`: left out",
        "`min(i, 5)`: `max`",
        "`5`: `6`",
        "`self.most = range(a, b, a)`: left out",
        "`range(a, b, a)`: ends earlier",
        "`-a if self.off is None else a // 2`: arms exchanged",
        "`self.off is None`: `self.off is not None`",
        "`-a`: without its sign",
        "`a // 2`: `a * 2`",
        "`2`: `3`",
    ]
    assert mutations(printed) == ()


def test_each_change_is_one_of_its_own_line() -> None:
    (_, f, *_) = in_text("spaces/c.py", _FUNCTION)
    plain = ast.unparse(f.node).splitlines()
    for bug in mutations(f):
        changed = ast.unparse(bug.changed).splitlines()
        differing = [n for n, (a, b) in enumerate(zip(plain, changed, strict=False)) if a != b]
        assert changed != plain
        assert bug.text != _FUNCTION
        # The docstring stands on the line after the decorator and the name, here as there.
        assert bug.lines.start - f.first_line == min(differing, default=len(changed))


def test_every_function_of_the_product_can_be_changed_and_parsed() -> None:
    asked = functions(ROOT)[::150]
    assert len({f.path for f in asked}) > 30
    for function in asked:
        before = ast.dump(function.node)
        for bug in mutations(function):
            assert ast.dump(bug.changed) != before
        for bug in mutations(function)[:1]:
            assert _dumped(function, bug.text) != _dumped(function, "".join(function.lines))


def _dumped(function: Definition, text: str) -> list[str]:
    """What is called like a function in the text of its file."""
    found = [ast.dump(d.node) for d in in_text(function.path, text) if d.name == function.name]
    assert found
    return found


_PRODUCT = """
LIMIT = "10"

def limit(a):
    if a > 10:
        return int(LIMIT)
    return a

def twice(a):
    while a < 0:
        a += 1
    return 2 * a

def made():
    return 7

MADE = made()
"""
_TESTS = """
from spaces.f import MADE, limit, made, twice

def test_limit():
    assert (limit(3), limit(30)) == (3, 10)

def test_twice():
    assert twice(-1) == 0

def test_made():
    assert made() and MADE == 7

def test_broken():
    assert limit(3) == 3 and False
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Collected]:
    """The tests of a product of two functions. ``test_broken`` fails whatever the product does."""
    root = tmp_path_factory.mktemp("product")
    shutil.copytree(ROOT / "tests" / "mutants", root / "tests" / "mutants")
    for path, text in {
        "tests/conftest.py": "from hypothesis import settings\n"
        "settings.register_profile('spaces', derandomize=True)\n",
        "tests/test_f.py": _TESTS,
        "spaces/f.py": _PRODUCT,
    }.items():
        (root / path).parent.mkdir(exist_ok=True)
        (root / path).write_text(text)
    with collected(Workshop(root, "commit"), "tests/test_f.py") as found:
        yield found


@pytest.fixture
def lines(server: Collected, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> covering.Covering:
    """The lines that each test of the product runs."""
    now = {d.name: d for d in functions(server.workshop.root)}
    monkeypatch.setattr(
        covering, "definition_at", lambda commit, definition: now.get(definition.name)
    )
    numbers: list[int] = []
    found = covering.note([server], server.tests, numbers.append, tmp_path / "covering")
    assert numbers == [0, 4]
    assert found.seconds.keys() == set(server.tests)
    again = covering.note([server], server.tests, numbers.append, tmp_path / "covering")
    assert numbers[2:] == [4]
    assert again.seconds == found.seconds
    return found


def test_tests_have_places() -> None:
    tests = ["tests/cost/test_a.py::test_one[b/c]", "tests/cost_of/test_a.py::test_two"]
    assert covering.tests_below([], tests) == tests
    assert covering.tests_below(["tests/cost", "tests/gone"], tests) == tests[:1]
    assert covering.tests_below(["tests/cost_of/test_a.py"], tests) == tests[1:]


def test_bugs_are_noticed_by_the_tests_that_run_their_lines(
    server: Collected, lines: covering.Covering
) -> None:
    fates = {}
    for function in functions(server.workshop.root):
        for bug in mutations(function):
            name = bug.name.removeprefix("spaces.f:")
            if "a += 1" in name and "left out" in name:
                continue  # It never ends.
            trial = attempt(server, bug, lines)
            fates[name] = (trial.fate, trial.by.rpartition("::")[2])
    noticed, unnoticed = ("killed", "test_limit"), ("survived", "")
    assert fates == {
        "limit: `if a > 10: …`: case forgotten": noticed,
        "limit: `a > 10`: `a >= 10`": unnoticed,
        "limit: `a > 10`: `a <= 10`": noticed,
        "limit: `10`: `11`": unnoticed,
        "twice: `a < 0`: `a <= 0`": ("killed", "test_twice"),
        "twice: `a < 0`: `a >= 0`": ("killed", "test_twice"),
        "twice: `0`: `1`": ("killed", "test_twice"),
        "twice: `1`: `2`": ("killed", "test_twice"),
        "twice: `2 * a`: `2 // a`": ("killed", "test_twice"),
        "twice: `2`: `3`": unnoticed,
        # It ran when it was imported; only a process that imports it again notices.
        "made: `7`: `8`": ("killed", "test_made"),
    }
    assert (server.workshop.root / "spaces/f.py").read_text() == _PRODUCT


def test_what_is_no_function_is_changed_in_its_file(
    server: Collected, lines: covering.Covering
) -> None:
    bug = TextMutant("m", "LIMIT", "10", "11", "why", ("test_f.py",))
    planted = bug.planted(server.workshop.root)
    assert server.run(server.tests[:1], 60.0, planted).end == "not planted"
    trial = attempt(server, planted, lines)
    assert (trial.fate, trial.by) == ("killed", "tests/test_f.py::test_limit")


def test_what_never_ends_is_stopped(server: Collected) -> None:
    endless = Mutant("m", "twice", "a += 1", "a += 0", "why", ("test_f.py",))
    bug = endless.planted(server.workshop.root)
    run = server.run(["tests/test_f.py::test_twice"], 0.5, bug)
    assert (run.end, run.test) == ("out of time", "tests/test_f.py::test_twice")


def test_results_are_kept_until_the_code_changes(tmp_path: Path) -> None:
    first, second, third = (mutant.planted(ROOT) for mutant in MUTANTS[:3])
    results = tmp_path / "results"
    survived = [Trial(first, "survived", "", 1.0), Trial(second, "survived", "", 1.0)]
    report.keep(survived, [first, second, third], results)
    report.keep([Trial(first, "killed", "test", 1.0)], [first, second, third], results)
    kept = json.loads(results.read_text())
    counts = kept["packages"]["by hand"]
    assert [counts[n] for n in ("possible", "planted", "killed", "survived")] == [3, 2, 1, 1]
    assert kept["unnoticed"] == [f"{second.key} survived: {second.name}"]
    assert report.known(results) == {first.key: "killed", second.key: "survived"}
    report.keep([Trial(second, "not run", "", 0.0)], [first, second, third], results)
    assert report.known(results)[second.key] == "survived"  # the lines are not known here
    report.keep([], [first, third], results)  # the code of the second has changed
    assert report.known(results) == {first.key: "killed"}


def test_what_nobody_can_see_is_kept_with_the_reason(tmp_path: Path) -> None:
    first, second = (mutant.planted(ROOT) for mutant in MUTANTS[:2])
    results = tmp_path / "results"
    report.keep([Trial(first, "survived", "", 1.0)], [first, second], results)
    report.keep([], [first, second], results, {first.key: "Both ways give 0."})
    report.keep([Trial(first, "survived", "", 1.0)], [first, second], results)
    kept = json.loads(results.read_text())
    assert kept["equivalent"] == {first.key: f"{first.name}: Both ways give 0."}
    assert (kept["unnoticed"], report.known(results)) == ([], {first.key: "equivalent"})
    counts = kept["packages"]["by hand"]
    assert [counts[n] for n in ("planted", "survived", "equivalent")] == [1, 0, 1]
    report.keep([], [second], results)  # the code of the first has changed
    assert json.loads(results.read_text())["equivalent"] == {}


def test_a_reason_goes_when_a_test_notices(tmp_path: Path) -> None:
    bug, results = MUTANTS[0].planted(ROOT), tmp_path / "results"
    report.keep([Trial(bug, "survived", "", 1.0)], [bug], results)
    noted = report.excuse({bug.key: "Both ways give 0."}, [bug], results)
    assert noted == [f"{bug.key} equivalent: {bug.name}: Both ways give 0."]
    assert report.known(results) == {bug.key: "equivalent"}
    report.keep([Trial(bug, "killed", "test", 1.0)], [bug], results)
    assert report.known(results) == {bug.key: "killed"}
    assert json.loads(results.read_text())["equivalent"] == {}


def test_only_what_no_test_noticed_is_excused(tmp_path: Path) -> None:
    first, second, third = (mutant.planted(ROOT) for mutant in MUTANTS[:3])
    results = tmp_path / "results"
    trials = [Trial(first, "survived", "", 1.0), Trial(second, "out of time", "test", 1.0)]
    report.keep(trials, [first, second, third], results)
    before = results.read_text()
    for key, reason, said in (
        ("0" * 16, "Why.", "No bug has the key 0000"),
        (first.key, " ", "Say why nobody can see"),
        (second.key, "Why.", "A test noticed"),
        (third.key, "Why.", "Plant .* first"),
    ):
        with pytest.raises(ValueError, match=said):
            report.excuse({first.key: "Why.", key: reason}, [first, second, third], results)
    assert results.read_text() == before


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--cover", "tests/gone"], "There are no tests at tests/gone"),
        (["--equivalent", "0" * 16, "Why."], "No bug has the key 0000"),
        (["--again", "--unnoticed"], "not allowed with argument"),
    ],
)
def test_the_command_says_what_is_wrong(
    arguments: list[str],
    said: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(sys, "argv", ["mutants", *arguments])
    monkeypatch.setattr(command, "every_bug", lambda root: [])
    with pytest.raises(SystemExit) as ended:
        command.main()
    assert said in f"{ended.value.code}{capsys.readouterr().err}"


def test_a_sample_has_each_function_before_any_has_two() -> None:
    bugs = [bug for f in functions(ROOT)[:40] for bug in mutations(f)]
    order = drawn(bugs, None, seed=0)
    assert sorted(bug.key for bug in order) == sorted(bug.key for bug in bugs)
    places = [(bug.definition.path, bug.definition.name) for bug in order]
    first = len(set(places))
    assert len(set(places[:first])) == first
    assert drawn(bugs, 5, seed=0) == order[:5] != drawn(bugs, 5, seed=1)


def _mutant(where: str, old: str, new: str) -> Mutant:
    return Mutant("m", where, old, new, "why", ("test_t.py",))
