"""Texts are escaped wherever an element takes them."""

from spaces.markup.element import Markup, escaped, joined, share_bar, table, tag
from tests.pages_html import Read


def test_text_is_escaped_and_markup_is_not():
    assert tag("p", "a < b & 'c'") == "<p>a &lt; b &amp; &#x27;c&#x27;</p>"
    assert tag("p", Markup("<b>x</b>"), "<b>") == "<p><b>x</b>&lt;b&gt;</p>"
    assert joined(["a", [1, None, "<"]], 2.5) == "a1&lt;2.5"


def test_attributes_cannot_be_left():
    made = tag("g", class_="node", data_func='"><script>alert(1)</script>', hidden=True, id=None)
    assert Read(made).elements == [
        ("g", {"class": "node", "data-func": '"><script>alert(1)</script>', "hidden": None})
    ]


def test_what_no_file_holds_is_replaced():
    """NUL is no character of HTML, and a lone surrogate none of UTF-8."""
    assert escaped("a\x00b\ud800c\td\n") == "a\ufffdb\ufffdc\td\n"
    escaped("\ud800").encode()


def test_numbers_in_tables_stand_at_the_right():
    read = Read(table(("Func", "bytes"), [("<f>", 1234567), ("g", 0.25)]))
    assert [one.get("class") for one in read.all("td")] == [None, "n", None, "n"]
    assert read.text == "Funcbytes<f>1,234,567g0.25"


def test_a_bar_stays_within_its_place():
    assert 'style="width:100.0%"' in share_bar(7.0)
    assert 'style="width:0.0%"' in share_bar(-1.0)
    assert 'style="width:25.0%"' in share_bar(0.25)
