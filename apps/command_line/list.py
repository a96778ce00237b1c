"""``spaces list``: the apps of the library and of other packages."""

from __future__ import annotations

import importlib
import json
from importlib.metadata import entry_points
from typing import Annotated

import typer

from spaces.apps.command_line.console import complain, line, table
from spaces.apps.command_line.program import AsJson, command
from spaces.apps.listing import listing

OfGallery = Annotated[
    bool, typer.Option("--gallery", help="List the pipelines of the gallery instead, by kind.")
]


@command(
    "list", "List the apps that come with the library.", "list", "list --json", "list --gallery"
)
def list_apps(of_gallery: OfGallery = False, as_json: AsJson = False) -> None:
    """List the apps that come with the library."""
    if of_gallery:
        _list_gallery(as_json)
    else:
        _list_apps(as_json)


def _list_gallery(as_json: bool) -> None:
    found = importlib.import_module("spaces.apps.gallery.descriptions").describe_gallery()
    if as_json:
        line(json.dumps(found, indent=2))
        return
    rows = [
        (one["kind"], one["name"], one["funcs"], " x ".join(map(str, one["size"])), one["summary"])
        for one in found
    ]
    table(("kind", "pipeline", "Funcs", "size", "what it computes"), rows)


def _list_apps(as_json: bool) -> None:
    apps = listing()
    if entry_points(group="spaces.apps"):  # only then is it worth importing all that apps need
        apps += importlib.import_module("spaces.apps.descriptions").describe_other_apps(complain)
    if as_json:
        line(json.dumps(apps, indent=2))
        return
    rows = []
    for app in apps:
        size = " x ".join(map(str, app["size"]))
        sized = f"{size} {app['sized_by']}".strip()
        schedules = ", ".join(app["schedules"])
        rows.append((app["name"], app["paper"], app["funcs"], sized, schedules, app["summary"]))
    table(("app", "paper", "Funcs", "size", "schedules", "what it computes"), rows)
