"""The list of the apps: ``python -m docs.apps`` writes ``apps/data/apps.json``."""

from __future__ import annotations

import json
from typing import Any

from apps.app import App
from apps.catalog import APPS
from apps.listing import FILE


def listed() -> str:
    """The whole file."""
    return json.dumps([_entry(app) for app in APPS.values()], indent=2) + "\n"


def _entry(app: App) -> dict[str, Any]:
    """An app as a dictionary of JSON's types."""
    pipeline = app.pipeline()
    return {
        "name": app.name,
        "paper": app.paper,
        "funcs": len(pipeline.functions),
        "size": [extent for _, extent in pipeline.estimate(pipeline.outputs[0]) or ()],
        "sized_by": app.sized_by,
        "schedules": list(app.schedules),
        "summary": app.summary,
    }


if __name__ == "__main__":
    FILE.write_text(listed(), "utf-8")
