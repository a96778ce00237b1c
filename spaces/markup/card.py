"""What a record shows in a notebook: a small card that needs nothing from elsewhere.

Its text takes the colours of the notebook, so it is light and dark with it; lines and surfaces are
half transparent grays, and hues of medium lightness mark kinds.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from spaces.markup.element import Child, Markup, joined, tag

_STYLE = (
    ".spaces-card{font:13px/1.45 system-ui,sans-serif;color:inherit;max-width:60rem;"
    "border:1px solid rgba(128,128,128,.35);border-radius:6px;padding:.6em .8em;margin:.2em 0}"
    ".spaces-card h4{margin:0 0 .4em;font-size:1.05em}"
    ".spaces-card h4 small,.spaces-card .quiet{font-weight:400;opacity:.72}"
    ".spaces-card p{margin:.3em 0}"
    ".spaces-card pre{margin:.3em 0;padding:.4em .6em;background:rgba(128,128,128,.1);"
    "border-radius:4px;overflow-x:auto;font:12px/1.5 ui-monospace,monospace;white-space:pre;"
    "color:inherit;max-height:26em;overflow-y:auto}"
    ".spaces-card table{border-collapse:collapse;margin:.3em 0;color:inherit;background:none}"
    ".spaces-card th,.spaces-card td{text-align:left;padding:.15em .9em .15em 0;color:inherit;"
    "background:none;border:0;vertical-align:top}"
    ".spaces-card thead th{border-bottom:1px solid rgba(128,128,128,.4);opacity:.8}"
    ".spaces-card td.n{text-align:right;font-variant-numeric:tabular-nums}"
    ".spaces-card .ok,.spaces-card .bad,.spaces-card .open{font-weight:600;padding:0 .45em;"
    "border-radius:3px;border:1px solid}"
    ".spaces-card .ok{border-color:#2f9e6b;background:rgba(47,158,107,.18)}"
    ".spaces-card .bad{border-color:#d9534f;background:rgba(217,83,79,.18)}"
    ".spaces-card .open{border-color:#c08a1e;background:rgba(192,138,30,.18)}"
    ".spaces-card .bar{display:inline-block;width:8em;height:.7em;background:rgba(128,128,128,.18);"
    "border-radius:2px;overflow:hidden}"
    ".spaces-card .fill{display:block;height:100%;background:#4c82d9}"
    ".spaces-card svg{max-width:100%;height:auto}"
    ".spaces-card svg text{font:12px system-ui,sans-serif;fill:currentColor}"
    ".spaces-card .edge{fill:none;stroke:rgba(128,128,128,.8)}"
    ".spaces-card .box{fill:rgba(76,130,217,.14);stroke:#4c82d9}"
    ".spaces-card .input .box{fill:rgba(128,128,128,.12);stroke:rgba(128,128,128,.8)}"
    ".spaces-card .output .box{fill:rgba(47,158,107,.16);stroke:#2f9e6b}"
    ".spaces-card svg .quiet{opacity:.75;font-size:10px}"
)


def card(title: str, about: Child = "", *body: Child) -> Markup:
    """A card.

    Args:
        title: what the record is.
        about: a few words beside the title.
        body: what stands below.
    """
    heading = tag("h4", title, joined(" ", tag("small", about)) if about else None)
    style = tag("style", Markup(_STYLE))
    return tag("div", style, heading, body, class_="spaces-card")


def listing(text: str) -> Markup:
    """Lines of a program or a schedule, as they stand."""
    return tag("pre", text)


def mark(kind: str, text: str) -> Markup:
    """A short answer: ``ok``, ``bad`` or ``open``."""
    return tag("span", text, class_=kind)


def facts(named: Mapping[str, Child]) -> Markup:
    """Names and values, a row each; without those that are None."""
    rows = [tag("tr", tag("th", n), tag("td", v)) for n, v in named.items() if v is not None]
    return tag("table", rows)


def few(items: Iterable[Child], most: int, rest: str) -> list[Child]:
    """The first items; if there are more, the last place counts those left out."""
    every = list(items)
    if len(every) <= most:
        return every
    left = tag("p", f"... and {len(every) - most:,} more {rest}", class_="quiet")
    return [*every[:most], left]


def brief(text: str, most: int = 160) -> str:
    """The text, cut after so many characters."""
    return text if len(text) <= most else f"{text[:most]}…"
