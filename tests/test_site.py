"""The sources of the site hold every page, and their links lead somewhere on it."""

from __future__ import annotations

import posixpath
import re
from functools import cache
from pathlib import Path

import spaces
from docs.site.markdown import anchor_of, change_prose, headlines
from docs.site.sources import origins, sources
from spaces.constraints.rules.catalogue import ADVICE, RULES

ROOT = Path(__file__).parents[1]


@cache
def made():
    return sources()


def links(text):
    prose = []
    change_prose(text, lambda part: prose.append(part) or part)
    return re.findall(r"\]\(([^)\s]+)\)", "".join(prose))


def test_every_page_is_on_the_site():
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "examples").rglob("*.md")]
    assert sorted(origins()) == sorted(str(page.relative_to(ROOT)) for page in pages)
    assert len(list(origins())) == len(set(origins()))


@cache
def anchors(place):
    return {anchor_of(words) for _, words in headlines(made()[place])}


def test_links_lead_to_pages_and_headlines_of_the_site():
    counted = 0
    for place, text in made().items():
        for link in links(text):
            if link.startswith("http"):
                continue
            file, _, anchor = link.partition("#")
            folder = posixpath.dirname(place)
            target = posixpath.normpath(posixpath.join(folder, file)) if file else place
            assert target in made(), f"{place}: {link}"
            assert not anchor or anchor in anchors(target), f"{place}: {link}"
            counted += 1
    assert counted > 800


def test_every_public_name_and_rule_has_a_headline():
    headings = {words for text in made().values() for _, words in headlines(text)}
    assert {f"`{name}`" for name in spaces.__all__} <= headings
    assert {f"`{rule.id}`" for rule in (*RULES, *ADVICE)} <= headings


def test_names_in_the_prose_lead_to_their_documentation():
    page = made()["how_to/verify_a_schedule.md"]
    assert "[`spaces.verify`](../api/verifying-and-repairing.md#verify)" in page
    assert "print(spaces.repair(pipeline, schedule, gpu))" in page


def test_the_site_begins_with_readme_and_lists_all_pages():
    index = made()["index.md"]
    assert index.startswith((ROOT / "README.md").read_text("utf-8").partition("](")[0])
    listed = re.findall(r"^([\w/]+)$", index.partition("```{toctree}")[2], re.MULTILINE)
    assert {"tutorial", "api/index", "rules/index", "changelog", "glossary"} <= set(listed)
