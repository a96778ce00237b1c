"""The pipelines of the gallery by name."""

from __future__ import annotations

import pkgutil
from collections.abc import Iterator, Mapping
from functools import cached_property
from importlib import import_module

from spaces.apps.gallery import pipelines
from spaces.apps.gallery.gallery_pipeline import GalleryPipeline


class _Gallery(Mapping[str, GalleryPipeline]):
    """Imports the file of a pipeline at its first look-up: there are many."""

    @cached_property
    def _names(self) -> frozenset[str]:
        return frozenset(file.name for file in pkgutil.iter_modules(pipelines.__path__))

    def __getitem__(self, name: str) -> GalleryPipeline:
        if name not in self._names:
            raise KeyError(name)
        made: GalleryPipeline = import_module(f"{pipelines.__name__}.{name}").GALLERY_PIPELINE
        return made

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(self._names))

    def __len__(self) -> int:
        return len(self._names)

    def __contains__(self, name: object) -> bool:
        return name in self._names


GALLERY: Mapping[str, GalleryPipeline] = _Gallery()
"""The ``GALLERY_PIPELINE`` of each file in :mod:`spaces.apps.gallery.pipelines`, in the order of
names. A file has the name of its pipeline.
"""
