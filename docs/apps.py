"""The list of the apps: ``python -m docs.apps`` writes ``apps/data/apps.json``."""

from __future__ import annotations

import json

from spaces.apps.catalog import APPS
from spaces.apps.descriptions import describe_app
from spaces.apps.listing import FILE


def listed() -> str:
    """The whole file."""
    return json.dumps([describe_app(name, APPS[name]) for name in APPS], indent=2) + "\n"


if __name__ == "__main__":
    FILE.write_text(listed(), "utf-8")
