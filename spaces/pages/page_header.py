"""The head of a page: its title, its most important numbers, and what a reader must know first."""

from __future__ import annotations

from collections.abc import Iterable

from spaces.markup.element import Markup, joined, tag
from spaces.model.algorithm.pipeline import Pipeline

_BUFFERS = 8
"""How many buffers are named with their sizes."""


def shown_sizes(pipeline: Pipeline) -> str:
    """The sizes at which a pipeline is looked at, as ``at output 1536 × 2560``."""
    sizes = ", ".join(
        f"{one.buffer} {' × '.join(str(extent) for _, extent in one.ranges)}"
        for one in pipeline.estimates[:_BUFFERS]
    )
    return f"at {sizes}" if sizes else ""


def page_header(
    name: str, about: str, tiles: Iterable[tuple[str, str]], warnings: Iterable[str]
) -> Markup:
    """The head of a page.

    Args:
        name: of the pipeline.
        about: a few words beside it.
        tiles: the most important numbers: what they are, and the numbers.
        warnings: sentences.
    """
    return joined(
        tag("h1", name, " ", tag("small", about)),
        tile_row(tiles),
        [tag("p", text, class_="note") for text in warnings],
    )


def tile_row(tiles: Iterable[tuple[str, Markup | str]]) -> Markup:
    """Numbers beside each other: what they are, and the numbers."""
    shown = [tag("div", tag("b", value), tag("small", name)) for name, value in tiles]
    return tag("div", shown, class_="tiles")
