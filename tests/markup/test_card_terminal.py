"""Cards on terminals: in their width, without colours, and without obeying the names of others."""

import io

import pytest
from rich.console import Console

from spaces.markup.card import (
    Bullets,
    CardChart,
    Listing,
    Noted,
    Share,
    Styled,
    Table,
    Tree,
    TreeRow,
    WrittenNumber,
    card,
    facts,
    few,
    marked,
    paragraph,
)
from spaces.markup.card_html import card_html
from spaces.markup.card_terminal import TerminalCard
from spaces.markup.charts.axis import axis_from_zero
from spaces.markup.charts.chart import ChartLine, Look, Plane
from tests.pages_html import Read

ROWS = (
    ("blur_y", 1234567, WrittenNumber("58.9%"), Share(0.5)),
    ("a long name", 2.5, WrittenNumber("1%"), None),
)
TABLE = Table(("Func", "cost", "share", ""), ROWS)
TREE = Tree(
    (
        TreeRow(0, (Styled("strong", "produce"), " out")),
        TreeRow(1, (Styled("parallel", "parallel"), " out.y  150×")),
        TreeRow(2, ("store blur  uint16[6,400, 3 folded]  37.5 KiB",)),
        TreeRow(2, ("compute out",)),
    )
)
CODE = "f.split(y, y, yi, 32).vectorize(x, 8)  // y, yi, x\ng.compute_root()"
NOTES = ((Styled("bad", "order.factor"), ": splits loop y by zero, which is less than one."),)
WHOLE = card(
    "Title",
    "about it",
    paragraph(Styled("ok", "legal"), "; a sentence that is longer than forty characters is wide"),
    Listing(CODE),
    Bullets((("first",), ("second",))),
    Noted(marked("f.split(y, y, yi, 0)", {"yi"}, "bad"), NOTES),
    TABLE,
    facts({"warp threads": "32", "nothing": None}),
    TREE,
)


def terminal(made, width, **options):
    """What a terminal shows, line by line."""
    file = io.StringIO()
    Console(file=file, width=width, **options).print(TerminalCard(made))
    return [line.rstrip() for line in file.getvalue().splitlines()]


def test_a_card_of_all_parts():
    assert terminal(WHOLE, 80) == [
        "Title  about it",
        "legal; a sentence that is longer than forty characters is wide",
        "  f.split(y, y, yi, 32).vectorize(x, 8)  // y, yi, x",
        "  g.compute_root()",
        "• first",
        "• second",
        "  f.split(y, y, yi, 0)",
        "    • order.factor: splits loop y by zero, which is less than one.",
        "Func              cost  share",
        "blur_y       1,234,567  58.9%  ██████",
        "a long name        2.5     1%",
        "warp threads  32",
        "produce out",
        "└─ parallel out.y  150×",
        "   ├─ store blur  uint16[6,400, 3 folded]  37.5 KiB",
        "   └─ compute out",
    ]


def test_a_narrow_terminal_parts_lines_between_directives_and_parts():
    """Comments stay comments."""
    shown = terminal(WHOLE, 30)
    assert shown[4:9] == [
        "  f.split(y, y, yi, 32)",
        "      .vectorize(x, 8)",
        "      // y, yi, x",
        "  g.compute_root()",
        "• first",
    ]
    assert shown[-7:] == [
        "warp threads  32",
        "produce out",
        "└─ parallel out.y  150×",
        "   ├─ store blur",
        "   │     uint16[6,400, 3",
        "   │     folded]  37.5 KiB",
        "   └─ compute out",
    ]


def test_bars_go_before_columns():
    made = card("", "", TABLE)
    assert terminal(made, 30)[2:4] == ["blur_y  1,234,567  58.9%  ██", "a long        2.5     1%"]
    assert terminal(made, 29)[2:] == [
        "blur_y       1,234,567  58.9%",
        "a long name        2.5     1%",
    ]


def test_without_room_for_columns_a_row_names_its_cells():
    assert terminal(card("", "", TABLE), 18)[1:] == [
        "blur_y",
        "  cost 1,234,567",
        "  share 58.9%",
        "a long name",
        "  cost 2.5",
        "  share 1%",
    ]


@pytest.mark.parametrize("width", [1, 12, 40, 80, 120])
def test_no_line_is_longer_than_the_terminal_and_nothing_is_lost(width):
    shown = terminal(WHOLE, width)
    assert max(map(len, shown)) <= width
    letters = [one for line in shown for one in line if one.isalpha()]
    for word in ("aboutit", "longerthanfortycharacters", "lessthanone", "warpthreads", "folded"):
        assert word in "".join(letters)


def test_colours_say_nothing_that_words_do_not():
    plain = terminal(WHOLE, 80)
    colored = terminal(WHOLE, 80, force_terminal=True, color_system="standard", no_color=False)
    assert "\x1b[1;35mparallel\x1b[0m" in colored[13]
    assert not any("\x1b" in line for line in plain)
    silent = terminal(WHOLE, 80, force_terminal=True, color_system="standard", no_color=True)
    assert not any("\x1b[1;35m" in line for line in silent)


def test_texts_of_others_are_shown_and_not_obeyed():
    foreign = "\x1b[2J[bold red]x[/bold red] :smile: \u202e[link=https://a.b]"
    parts = (
        paragraph(foreign),
        Listing(foreign),
        Bullets(((foreign,),)),
        Noted((foreign,), ()),
        Table((foreign,), ((foreign,),)),
        facts({foreign: foreign}),
        Tree((TreeRow(0, (foreign,)),)),
    )
    shown = "\n".join(terminal(card(foreign, foreign, *parts), 300))
    literal = r"\x1b[2J[bold red]x[/bold red] :smile: \u202e[link=https://a.b]"
    assert shown.count(literal) == 11
    assert "\x1b" not in shown
    assert "\u202e" not in shown


def test_a_terminal_without_unicode_gets_ascii():
    raw = io.BytesIO()
    file = io.TextIOWrapper(raw, "ascii")
    Console(file=file, width=80).print(TerminalCard(card("größe", "", TREE, TABLE)))
    file.flush()
    shown = raw.getvalue().decode("ascii").splitlines()
    assert shown[0] == r"gr\xf6\xdfe"
    assert shown[2].rstrip() == "`- parallel out.y  150x"
    assert shown[6].rstrip() == "blur_y       1,234,567  58.9%  ######"


def test_a_chart_is_a_row_of_its_first_line():
    x, y = (axis_from_zero(name, 8.0, str) for name in ("seconds", "cost"))
    line = ChartLine(Look("best", "#000000", "line"), ((0.0, 8.0), (4.0, 4.0), (8.0, 1.0)))
    shown = terminal(card("", "", CardChart(Plane("Cost against time", x, y, (line,)))), 14)
    assert shown[1:] == ["Cost against", "time (seconds:", "up to 8)", "8 ████▄▄▄▄▄▁ 1"]


def test_both_readings_say_the_same():
    words = Read(card_html(WHOLE)).text
    for line in terminal(WHOLE, 120):
        for word in line.split():
            assert word.strip("├└─•█") in words


def test_a_short_list_leaves_nothing_out():
    assert few([("a",), ("b",)], 2, "things") == (Bullets((("a",), ("b",))),)
    assert few([("a",), ("b",), ("c",)], 1, "things")[1] == paragraph(
        Styled("quiet", "... and 2 more things")
    )
    assert few([], 2, "things") == ()
