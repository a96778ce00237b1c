"""What the list of the apps says of each one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from spaces.apps.app import App
from spaces.apps.catalog import APPS
from spaces.apps.listing import listing
from spaces.model.registry import PluginError


def describe_other_apps(complain: Callable[[str], None]) -> Iterator[dict[str, Any]]:
    """The apps of other packages; says which of them cannot be imported."""
    for name in sorted(APPS.keys() - {app["name"] for app in listing()}):
        try:
            yield describe_app(name, APPS[name])
        except PluginError as error:
            complain(str(error))


def describe_app(name: str, app: App) -> dict[str, Any]:
    """An app: name, paper, number of Funcs, size and its paper, schedules, summary."""
    pipeline = app.pipeline()
    return {
        "name": name,
        "paper": app.paper,
        "funcs": len(pipeline.functions),
        "size": [extent for _, extent in pipeline.estimate(pipeline.outputs[0]) or ()],
        "sized_by": app.sized_by,
        "schedules": list(app.schedules),
        "summary": app.summary,
    }
