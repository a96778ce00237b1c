"""A page: one HTML file with its style and script inside, light and dark."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from importlib import resources

from attrs import frozen

from spaces.markup.element import Child, Markup, joined, tag


@frozen
class Section:
    """A part of a page.

    Attributes:
        id: its anchor.
        title: its heading.
        body: what stands below.
        wide: whether it takes the whole width where there are columns.
    """

    id: str
    title: str
    body: Markup
    wide: bool = True


def whole_page(title: str, head: Child, sections: Iterable[Section]) -> str:
    """The text of a page.

    Args:
        title: of the window.
        head: what stands above all sections.
        sections: the parts, in order.
    """
    parts = list(sections)
    links = [tag("a", part.title, href=f"#{part.id}") for part in parts]
    bodies = [
        tag(
            "section",
            tag("h2", part.title),
            part.body,
            id=part.id,
            class_="wide" if part.wide else "half",
        )
        for part in parts
    ]
    top = tag("header", head, tag("nav", links, aria_label="Sections"))
    body = tag("body", top, tag("main", bodies), tag("script", Markup(_resource("page.js"))))
    meta = joined(
        tag("meta", charset="utf-8"),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("title", title),
        tag("style", Markup(_resource("page.css"))),
    )
    return f"<!DOCTYPE html>\n{tag('html', tag('head', meta), body, lang='en')}\n"


@cache
def _resource(name: str) -> str:
    return resources.files("spaces.pages").joinpath(name).read_text("utf-8")
