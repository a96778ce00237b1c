"""``spaces list`` and ``spaces show``: the apps, and pictures of a schedule."""

from spaces.apps.catalog import APPS
from tests.apps.command_line import spaces


def test_list_names_every_app_with_its_paper():
    out, _ = spaces("list")
    rows = {line.split()[0]: line for line in out.splitlines()}
    assert set(APPS) <= set(rows)
    assert "[TOY]" in rows["toy_trig"]
    assert "6400 x 4800 [S19]" in rows["blur"]


def test_show_draws_who_reads_whom_the_tree_and_the_loop_nest():
    out, _ = spaces("show", "blur", "--schedule", "cpu_tiles")
    assert any(line.split() == ["blur_y", "uint16", "x,", "y", "1", "blur_x", "output"]
               for line in out.splitlines())  # fmt: skip
    assert "blur_y.tile(x, y, xo, yo, xi, yi, 256, 32)" in out
    assert "store blur_x" in out
    assert "parallel blur_y.yo in 0 .. (blur_y.extent.1 + 31) / 32 - 1:" in out


def test_show_draws_what_it_can_of_an_illegal_schedule(sched):
    path = sched("blur_x.compute_at(blur_y, w)")
    out, err = spaces("show", "blur", "--schedule", path, status=1)
    assert "blur_x.compute_at(blur_y, w)" in out
    assert "does not enclose every use of blur_x" in err
