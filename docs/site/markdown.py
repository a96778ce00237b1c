"""What the site reads of Markdown: fences, headlines and their anchors, links."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

_FENCE = re.compile(r"^ *(```+).*?^ *\1[ \t]*$\n?", re.MULTILINE | re.DOTALL)

_HEADLINE = re.compile(r"^(#+) (.*)$", re.MULTILINE)

_LINK = re.compile(r"\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)\s]+)\)")


def change_prose(text: str, change: Callable[[str], str]) -> str:
    """The text with its prose changed; what stands in fences stays as it is."""
    parts, end = [], 0
    for fence in _FENCE.finditer(text):
        parts += [change(text[end : fence.start()]), fence[0]]
        end = fence.end()
    return "".join([*parts, change(text[end:])])


def change_links(prose: str, change: Callable[[str, str], str]) -> str:
    """The prose with its links replaced; ``change`` takes the words and the target of each."""
    return _LINK.sub(lambda link: change(link[1], link[2]), prose)


def headlines(text: str) -> Iterator[tuple[int, str]]:
    """The level and the words of each headline."""
    for level, words in _HEADLINE.findall(_FENCE.sub("", text)):
        yield len(level), words


def anchor_of(headline: str) -> str:
    """The anchor by which a link names a headline."""
    return re.sub(r"[^\w\- ]", "", headline.lower()).replace(" ", "-")


def parts_of(text: str) -> tuple[str, dict[str, str]]:
    """What stands before the first ``##`` of a page, and the text of each part by its headline."""
    marked = change_prose(text, lambda prose: re.sub(r"^## ", "\0", prose, flags=re.MULTILINE))
    head, *rest = marked.split("\0")
    return head, {part.partition("\n")[0]: part.partition("\n")[2] for part in rest}


def raise_headlines(text: str) -> str:
    """The text with each headline one level higher: ``###`` becomes ``##``."""
    return change_prose(text, lambda prose: re.sub(r"^##", "#", prose, flags=re.MULTILINE))
