"""The pipelines of the gallery by name."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from spaces.apps.gallery import pipelines
from spaces.apps.gallery.gallery_pipeline import GalleryPipeline
from spaces.model.discovery import find_in_files


@cache
def gallery() -> Mapping[str, GalleryPipeline]:
    """The ``GALLERY_PIPELINE`` of every file in :mod:`spaces.apps.gallery.pipelines`, by its name
    and in the order of names.
    """
    found = find_in_files(pipelines, "GALLERY_PIPELINE")
    return {one.name: one for one in sorted(found, key=lambda one: one.name)}
