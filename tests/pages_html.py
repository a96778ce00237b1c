"""Reads HTML as strictly as tests of pages need it: elements must close, and in their order."""

from __future__ import annotations

import re
from html.parser import HTMLParser

from spaces.pages.schedule_page import MOST_BYTES

VOID = {"br", "hr", "img", "input", "meta", "link", "col"}


class Read(HTMLParser):
    """The elements of a text of HTML, with their attributes, and its text.

    Raises:
        AssertionError: an element is not closed, or closed where another one is open.
    """

    def __init__(self, text):
        super().__init__()
        self.elements, self.words, self._open = [], [], []
        self.feed(text)
        self.close()
        assert not self._open, self._open

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self._open.append(tag)

    def handle_endtag(self, tag):
        assert self._open[-1:] == [tag], (tag, self._open)
        self._open.pop()

    def handle_data(self, data):
        if not self._open or self._open[-1] not in ("style", "script"):
            self.words.append(data)

    @property
    def text(self):
        return "".join(self.words)

    def all(self, tag):
        return [attributes for name, attributes in self.elements if name == tag]

    def outside(self):
        """The addresses that a reader's browser would fetch."""
        return [
            value
            for _, attributes in self.elements
            for name, value in attributes.items()
            if name in ("src", "href", "srcset", "data", "action") and not value.startswith("#")
        ]


def assert_stands_alone(page):
    """A page needs nothing from elsewhere, no script either, and is small enough to send."""
    read = Read(page)
    assert not read.outside()
    assert not any("src" in attributes for attributes in read.all("script"))
    assert not re.search(r"url\(|@import|https?://", page)
    assert len(page.encode()) < MOST_BYTES
