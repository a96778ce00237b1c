"""The list of the apps with their sizes, from a file, as building all pipelines takes long.

``python -m docs.apps`` makes the file from :data:`spaces.apps.catalog.APPS`.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

FILE = Path(__file__).with_name("data") / "apps.json"


def listing() -> list[dict[str, Any]]:
    """What :func:`~spaces.apps.descriptions.describe_app` says of each app of the library."""
    found: list[dict[str, Any]] = json.loads(FILE.read_text("utf-8"))
    return found
