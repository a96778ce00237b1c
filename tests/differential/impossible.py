"""Pairs of constructs that no case can have, whatever the rules are."""

from __future__ import annotations

_EXCLUSIVE = (
    ("device: cpu", "device: gpu"),
    ("estimates: given", "estimates: none"),
    ("images: 0", "images: 1", "images: 2"),
    ("outputs: 1", "outputs: 2", "outputs: more"),
)
"""Groups of constructs; a case has one of each group."""

_WITHOUT = {
    "images: 0": ("image type: ", "image dimensions: ", "boundary: "),
    "outputs: 1": (
        "outputs: of unlike dimensions",
        "outputs: of unequal sizes",
        "outputs: one reads another",
        "outputs: empty beside others",
        "outputs: of one element beside others",
    ),
}
"""Constructs that others need the lack of, by how these begin."""


def why_impossible(a: str, b: str) -> str:
    """Why no case has both; empty where one may."""
    for group in _EXCLUSIVE:
        if a != b and a in group and b in group:
            return f"A case has one of {', '.join(group)}."
    for one, other in ((a, b), (b, a)):
        if other.startswith(_WITHOUT.get(one, ())):
            return f"With {one} there is no {other}."
    return ""
