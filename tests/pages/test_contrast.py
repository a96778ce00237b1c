"""Texts of pages stand out from what is behind them, light and dark: 4.5 to 1, as the guidelines
of the W3C for accessible pages (WCAG 2, 1.4.3) ask.
"""

import re
from pathlib import Path

import pytest

CSS = (Path(__file__).parents[2] / "spaces" / "pages" / "page.css").read_text("utf-8")
LIGHT, DARK = (
    dict(re.findall(r"--(\w+):(#\w+)", part)) for part in re.findall(r":root\{([^}]*)\}", CSS)
)
TEXTS = ("ink", "soft", "blue", "green", "red", "amber")
KINDS = re.findall(r"\.(k-\w+)\{background:(#\w{6});color:(#\w+)", CSS)


def luminance(colour):
    digits = colour[1:] if len(colour) == 7 else "".join(2 * digit for digit in colour[1:])
    parts = [int(digits[n : n + 2], 16) / 255 for n in (0, 2, 4)]
    red, green, blue = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one, other):
    low, high = sorted(map(luminance, (one, other)))
    return (high + 0.05) / (low + 0.05)


def test_black_on_white_is_the_most():
    assert contrast("#000", "#ffffff") == pytest.approx(21)


@pytest.mark.parametrize("colours", [LIGHT, DARK], ids=["light", "dark"])
def test_texts_stand_out(colours):
    for behind in ("paper", "sheet"):
        for text in TEXTS:
            assert contrast(colours[text], colours[behind]) >= 4.5, (text, behind)
    assert contrast(colours["ink"], colours["lit"]) >= 4.5


def test_kinds_of_loops_stand_out():
    assert len(KINDS) >= 5
    for name, behind, text in KINDS:
        assert contrast(text, behind) >= 4.5, name
