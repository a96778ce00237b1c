"""The pages of the site as Markdown, made of the pages of the repository.

The pages stay as they are, so that they read well without the site. Three things change on the way:
long pages become a page a part, links lead to the pages of the site, and public names in the prose
become links to their documentation.
"""

from __future__ import annotations

import ast
import posixpath
import re
import textwrap
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path

from attrs import frozen

from docs.notebooks import NOTEBOOKS, read_notebook
from docs.site.markdown import (
    anchor_of,
    change_links,
    change_prose,
    headlines,
    parts_of,
    raise_headlines,
)
from docs.site.notebook_page import notebook_page
from docs.site.tree import SPLIT, TREE

ROOT = Path(__file__).parents[2]

_API = "docs/api.md"

_NAME = "name:"
"""Begins the target of a link to the documentation of a public name."""

_CODE = re.compile(
    r"\[(?:[^\[\]]|\[[^\]]*\])*\]\([^)\s]+\)|`(?P<library>spaces\.)?(?P<name>\w+)(?:\([^`\[\]]*)?`"
)
"""A link, which stays, or a name in code."""

_MADE = re.compile(r"\A<!--.*?-->\n+", re.DOTALL)
"""The line that says which command makes a page."""


@frozen
class SourcePage:
    """A page of the site: the file that its links start from, and its text."""

    origin: str
    text: str


def sources() -> dict[str, str]:
    """The Markdown of each page by its path on the site."""
    pages = _pages()
    places, names = _places(pages), _names(pages)
    made = {}
    for place, page in pages.items():
        named = partial(_with_names, names=names, all_names=place == place_of(_API))
        linked = partial(_linked, place=place, page=page, places=places)
        made[place] = change_prose(change_prose(page.text, named), linked)
    made["index.md"] += _contents()
    for folder in ("examples", "examples/notebooks"):
        inner = [place for place in pages if posixpath.dirname(place) == folder]
        stems = [posixpath.basename(place).removesuffix(".md") for place in inner]
        made[f"{folder}/index.md"] += "\n" + _toctree([one for one in stems if one != "index"])
    return made


def origins() -> Iterator[str]:
    """The files of the repository that are pages of the site."""
    yield "README.md"
    for files in TREE.values():
        yield from files


def place_of(origin: str) -> str:
    """The path on the site of a file of the repository."""
    if origin == "README.md":
        return "index.md"
    if origin in SPLIT:
        return origin.removeprefix("docs/").removesuffix(".md") + "/index.md"
    return origin.removeprefix("docs/").replace("README", "index").lower()


def _pages() -> dict[str, SourcePage]:
    found = {}
    for origin in origins():
        text = _MADE.sub("", (ROOT / origin).read_text("utf-8"))
        if origin not in SPLIT:
            found[place_of(origin)] = SourcePage(origin, text)
            continue
        head, parts = parts_of(text)
        folder = posixpath.dirname(place_of(origin))
        inner = [anchor_of(headline) for headline in parts]
        listed = "" if f"](#{inner[0]})" in head else _listed(inner)
        found[place_of(origin)] = SourcePage(origin, f"{head}\n{listed}{_toctree(inner)}")
        for headline, part in parts.items():
            part_text = f"# {headline}\n{raise_headlines(part)}"
            found[f"{folder}/{anchor_of(headline)}.md"] = SourcePage(origin, part_text)
    for path in sorted((ROOT / "examples").glob("*.py")):
        said, code = _split_docstring(path.read_text("utf-8"))
        text = f"# `{path.name}`\n\n{said}\n```python\n{code}```\n"
        found[f"examples/{path.stem}.md"] = SourcePage(f"examples/{path.name}", text)
    for path in NOTEBOOKS:
        origin = str(path.relative_to(ROOT))
        found[f"examples/notebooks/{path.stem}.md"] = SourcePage(
            origin, notebook_page(read_notebook(path))
        )
    return found


def _split_docstring(program: str) -> tuple[str, str]:
    """The docstring of a program as Markdown, and its code."""
    said = ast.get_docstring(ast.parse(program)) or ""
    words, _, printed = said.partition("::\n\n")
    shown = f":\n\n```text\n{textwrap.dedent(printed).rstrip()}\n```\n" if printed else "\n"
    return words.replace("``", "`") + shown, program.partition('"""\n\n')[2]


def _listed(parts: list[str]) -> str:
    return "".join(f"- [{part.replace('-', ' ').capitalize()}](#{part})\n" for part in parts) + "\n"


def _places(pages: Mapping[str, SourcePage]) -> dict[str, str]:
    """Where each target of a link stands: by file, and by file and anchor."""
    found = {}
    for place, page in pages.items():
        if place == place_of(page.origin) or page.origin not in SPLIT:
            found[page.origin] = place
        for level, headline in headlines(page.text):
            is_page = level == 1
            anchor = anchor_of(headline)
            found.setdefault(f"{page.origin}#{anchor}", place if is_page else f"{place}#{anchor}")
    return found


def _linked(prose: str, place: str, page: SourcePage, places: Mapping[str, str]) -> str:
    def change(words: str, target: str) -> str:
        if target.startswith(("http", "mailto:")) or target.endswith(".html"):
            return f"[{words}]({target})"
        if target.startswith(_NAME):
            return f"[{words}]({_relative(places[_API + target.removeprefix(_NAME)], place)})"
        file, mark, anchor = target.partition("#")
        path = _path_from(page.origin, file) if file else page.origin
        there = places.get(path + mark + anchor)
        if there is None and path in places:
            raise LookupError(f"{page.origin} links to {target}, which is not on its page.")
        # What the site lacks, such as a file of code, keeps its words.
        return f"[{words}]({_relative(there, place)})" if there else words

    return change_links(prose, change)


def _path_from(origin: str, file: str) -> str:
    return posixpath.normpath(posixpath.join(posixpath.dirname(origin), file))


def _relative(there: str, place: str) -> str:
    path, mark, anchor = there.partition("#")
    if path == place and mark:
        return f"#{anchor}"
    return posixpath.relpath(path, posixpath.dirname(place) or ".") + mark + anchor


def _names(pages: Mapping[str, SourcePage]) -> dict[str, str]:
    """The link to each public name, as a page of the repository would write it."""
    parts = [page for page in pages.values() if page.origin == _API]
    headings = [head for page in parts for level, head in headlines(page.text) if level == 2]
    return {head.strip("`"): f"#{anchor_of(head)}" for head in headings}


def _with_names(prose: str, names: Mapping[str, str], *, all_names: bool) -> str:
    """The prose with links from public names to their documentation.

    Args:
        prose: what stands outside of fences.
        names: the anchor of each public name.
        all_names: links also words that may mean something else, such as `sum`; else only those
            after `spaces.`, and classes whose name has several words.
    """

    def linked(found: re.Match[str]) -> str:
        name = found["name"]
        if name not in names:
            return found[0]
        is_clear = all_names or found["library"] or re.match(r"[A-Z]\w*[a-z]\w*[A-Z]", name)
        return f"[{found[0]}]({_NAME}{names[name]})" if is_clear else found[0]

    lines = prose.split("\n")
    return "\n".join(one if one.startswith("#") else _CODE.sub(linked, one) for one in lines)


def _contents() -> str:
    """The table of contents, which the sidebar shows."""
    trees = ["\n"]
    for caption, files in TREE.items():
        trees.append(_toctree([place_of(file).removesuffix(".md") for file in files], caption))
    return "\n".join(trees)


def _toctree(places: list[str], caption: str = "") -> str:
    options = f":caption: {caption}\n" if caption else ""
    return "```{toctree}\n:hidden:\n" + options + "\n" + "\n".join(places) + "\n```\n"
