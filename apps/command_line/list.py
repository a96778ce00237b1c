"""``spaces list``: the apps of the library and of other packages."""

from __future__ import annotations

import importlib
import json
from importlib.metadata import entry_points

from spaces.apps.command_line.console import complain, line, table
from spaces.apps.command_line.program import AsJson, command
from spaces.apps.listing import listing


@command("list", "List the apps that come with the library.", "list", "list --json")
def list_apps(as_json: AsJson = False) -> None:
    """List the apps that come with the library."""
    apps = listing()
    if entry_points(group="spaces.apps"):  # only then is it worth importing all that apps need
        apps += importlib.import_module("spaces.apps.described").of_other_packages(complain)
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
