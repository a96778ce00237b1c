"""``spaces verify``: verdicts, repairs, the sizes for which a schedule is legal, and advice."""

import json

import pytest

from tests.apps.command_line import spaces


def test_a_legal_schedule_exits_0():
    out, _ = spaces("verify", "unsharp", "--schedule", "gpu", "--device", "sm_80")
    assert out.splitlines()[0] == "The schedule is legal for sm_80."
    out, _ = spaces("verify", "blur", "--schedule", "cpu", "--json")
    told = json.loads(out)
    assert (told["legal"], told["violations"], told["advice"]) == (True, [], [])


def test_a_schedule_may_be_piped():
    piped = "blur_x.compute_root()\n"
    out, _ = spaces("verify", "blur", "--schedule", "-", piped=piped)
    assert out.startswith("The schedule is legal for cpu.")
    _, err = spaces("verify", "blur", "--schedule", "-", piped="blur_x.compute_rot()", status=2)
    assert err.startswith("standard input: The schedule has a mistake.\nline 1, column 8")


def test_an_illegal_schedule_exits_1_with_every_violation(sched):
    path = sched("blur_y.vectorize(q).parallel(z)\nblur_x.compute_at(blur_y, w)")
    out, _ = spaces("verify", "blur", "--schedule", path, status=1)
    for name in "qzw":
        assert f" {name}" in out
    out, _ = spaces("verify", "blur", "--schedule", path, "--json", status=1)
    verdict = json.loads(out)
    assert verdict["legal"] is False
    assert len(verdict["violations"]) >= 3
    for violation in verdict["violations"]:
        assert list(violation)[:6] == ["rule", "func", "stage", "loop", "message", "values"]
        # q and z are in the first line, w in the second.
        assert violation["line"] == 1 + (violation["loop"] == "w")
        assert violation["func"] in ("blur_x", "blur_y")
        assert violation["stage"] == 0
        assert violation["message"].endswith(".")
        assert isinstance(violation["values"], dict)


def test_a_block_that_its_stencil_makes_too_large_is_illegal_for_a_gpu(sched):
    path = sched(
        "blur_y.gpu_tile(x, y, xi, yi, 32, 32)\nblur_x.compute_at(blur_y, x).gpu_threads(x, y)"
    )
    arguments = ("verify", "blur", "--schedule", path, "--device", "sm_80", "--json")
    out, _ = spaces(*arguments, status=1)
    (violation,) = json.loads(out)["violations"]
    assert violation["rule"] == "gpu.threads-per-block"
    assert "1088" in violation["message"]  # 32 x (32 + 2)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("blur_y.tile(x, y", "line 1, column 17: Expected ')'"),
        ("blur_y.twist(x)", "There is no directive 'twist'"),
        ("blur_z.parallel(y)", "has no Func 'blur_z' (is blur_y meant?)"),
    ],
)
def test_a_malformed_schedule_exits_2_with_the_place(sched, text, sentence):
    out, err = spaces("verify", "blur", "--schedule", sched(text), status=2)
    assert out == ""
    assert sentence in err


def test_mistakes_of_the_text_and_of_what_it_says_are_told_at_once(sched):
    path = sched("blur_y.split(y, y, yi, 0)\n  .reorder(x, q);\nblur_x.vectorise(x, 8);")
    _, err = spaces("verify", "blur", "--schedule", path, status=2)
    assert "line 3, column 8: There is no directive 'vectorise' (is vectorize meant?)" in err
    assert "The readable part of the schedule is illegal for cpu: 2 violations." in err
    assert "line 2, column 15: order.unknown-loop: A reorder or serial of blur_y names q" in err
    assert "line 1, column 17: order.factor: blur_y.split(y, y, yi, 0) splits" in err
    out, _ = spaces("verify", "blur", "--schedule", path, "--json", status=2)
    told = json.loads(out)
    assert [(m["line"], m["column"]) for m in told["mistakes"]] == [(3, 8)]
    assert [(v["rule"], v["line"]) for v in told["violations"]] == [
        ("order.unknown-loop", 2),
        ("order.factor", 1),
    ]
    # Without other violations, or where they cannot be known, the message names no others.
    for text in ("blur_y.twist(x)", "blur_y.twist(x).split(x, x, xi, 0)"):
        _, err = spaces("verify", "blur", "--schedule", sched(text), status=2)
        assert "illegal" not in err


def test_a_name_that_is_no_loop_is_told_with_names_like_it(sched):
    path = sched("blur_y.split(y, outer, inner, 8).reorder(x, iner)")
    out, _ = spaces("verify", "blur", "--schedule", path, status=1)
    assert "iner, which is no loop of blur_y there (is inner meant?)" in out


@pytest.mark.parametrize("before", ["\ufeff", "\r\n\t", "# a comment\r\n"])
def test_marks_line_ends_and_tabs_of_editors_are_read(sched, before):
    text = f"{before}blur_y\t.parallel(y);\r\nblur_x.compute_root();\r\n"
    spaces("verify", "blur", "--schedule", sched(text))
    spaces("verify", "blur", "--schedule", "-", piped=text)


TOO_MANY_THREADS = """
    blur_y.gpu_tile(x, y, xi, yi, 32, 32);
    blur_x.compute_at(blur_y, x).gpu_threads(x, y);
"""


def test_verify_prints_the_nearest_legal_schedule_and_writes_it(sched, tmp_path):
    path, repaired = sched(TOO_MANY_THREADS), tmp_path / "repaired.sched"
    arguments = ("verify", "blur", "--schedule", path, "--device", "sm_80", "--repair")
    out, err = spaces(*arguments, "--output", repaired, status=1)
    assert "The nearest legal schedule changes 1 decision:" in out
    assert (
        "  blur_y.gpu_tile(x, y, xi, yi, 32, 30) instead of gpu_tile(x, y, xi, yi, 32, 32)" in out
    )
    assert "blur_y.gpu_tile(x, y, xi, yi, 32, 30)" in out
    assert f"Wrote {repaired}." in err
    legal, _ = spaces("verify", "blur", "--schedule", repaired, "--device", "sm_80")
    assert "The schedule is legal for sm_80." in legal


def test_verify_tells_a_repair_as_json(sched):
    path = sched("blur_y.parallel(yy)")
    out, _ = spaces("verify", "blur", "--schedule", path, "--repair", "--json", status=1)
    repaired = json.loads(out)["repair"]
    assert (repaired["answer"], repaired["changes"]) == ("nearest", 1)
    assert repaired["schedule"] == "blur_y.parallel(y)"


def test_verify_shows_the_sizes_for_which_a_schedule_is_legal(sched):
    path = sched("blur_y.split(x, x, xi, 256)")
    out, _ = spaces("verify", "blur", "--schedule", path)
    assert "blur_y.extent.0 >= 256: blur_y must have an extent along x of at least 256" in out
    as_json, _ = spaces("verify", "blur", "--schedule", path, "--json")
    assert json.loads(as_json)["preconditions"][0]["condition"] == "blur_y.extent.0 >= 256"
    # The estimate is 6400 wide; at other sizes the schedule is legal.
    wide, _ = spaces("verify", "blur", "--schedule", sched("blur_y.split(x, x, xi, 8000)"),
                     status=1)  # fmt: skip
    assert "It is legal for sizes where:\n  blur_y.extent.0 >= 8000" in wide


def test_an_output_without_a_repair_is_refused(sched, tmp_path):
    path = sched("blur_y.parallel(y)")
    _, err = spaces("verify", "blur", "--schedule", path, "-o", tmp_path / "x", status=2)
    assert "give --repair, too" in err


def test_verify_shows_advice_apart(sched):
    path = sched("blur_y.split(y, y, yi, 1).parallel(y)\nblur_x.vectorize(x, 8)")
    out, _ = spaces("verify", "blur", "--schedule", path)
    head, told, *lines = out.splitlines()
    assert head == "The schedule is legal for cpu."
    assert told == "Advice:"
    assert [line.split(":")[0] for line in lines[:2]] == [
        "  advice.inlined-order",
        "  advice.split-by-one",
    ]
    assert not any("advice." in line for line in lines[2:])
    out, _ = spaces("verify", "blur", "--schedule", path, "--json")
    verdict = json.loads(out)
    assert verdict["legal"] is True
    assert [a["func"] for a in verdict["advice"]] == ["blur_x", "blur_y"]
