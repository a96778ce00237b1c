"""What the list of the gallery says of each pipeline."""

from __future__ import annotations

from typing import Any

from spaces.apps.gallery.catalog import GALLERY


def describe_gallery() -> list[dict[str, Any]]:
    """Kind, name, number of Funcs, size of the output and summary of each, by kind and name."""
    found = []
    for one in sorted(GALLERY.values(), key=lambda one: (one.kind, one.name)):
        pipeline = one.pipeline()
        found.append(
            {
                "kind": str(one.kind),
                "name": one.name,
                "funcs": len(pipeline.functions),
                "size": [extent for _, extent in pipeline.estimate(pipeline.outputs[0]) or ()],
                "summary": one.summary,
            }
        )
    return found
