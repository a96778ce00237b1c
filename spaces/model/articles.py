"""Names of classes with their article, for sentences: ``an Op``, ``a Pipeline``."""

from __future__ import annotations


def with_article(name: str) -> str:
    """``a`` or ``an`` and a name."""
    return f"{'an' if name[:1] in 'aeiouAEIO' else 'a'} {name}"


def shown_kind(thing: object) -> str:
    """What something is: ``an int``."""
    return with_article(type(thing).__name__)
