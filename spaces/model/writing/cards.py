"""The cards of pipelines and schedules."""

from __future__ import annotations

from collections.abc import Iterator

from spaces.markup.card import (
    Card,
    Cell,
    Graph,
    Listing,
    Table,
    card,
    facts,
    more,
)
from spaces.markup.graph import Cluster, GraphNode
from spaces.model.algorithm.pipeline import Function, Image, Pipeline
from spaces.model.amounts import amount
from spaces.model.schedules.schedule import Schedule
from spaces.model.showing import shown_card

DRAWN = 24
"""A card draws the graph of at most this many Funcs and images; of more it lists some."""

_LISTED = 12


@shown_card.register
def _(pipeline: Pipeline) -> Card:
    count = len(pipeline.functions) + len(pipeline.images)
    about = f"{amount(len(pipeline.functions), 'Func')}, {amount(len(pipeline.images), 'image')}"
    estimates = facts(dict(_estimates(pipeline)))
    title = f"Pipeline {pipeline.name}"
    if count <= DRAWN:
        graph = Graph(
            *pipeline_graph(pipeline),
            f"The Funcs of {pipeline.name}",
            _listed([*map(_image_row, pipeline.images), *_func_rows(pipeline, count)]),
        )
        return card(title, about, graph, estimates)
    left = more(len(pipeline.functions), _LISTED, "Funcs")
    return card(title, about, _listed(_func_rows(pipeline, _LISTED)), left, estimates)


def pipeline_graph(
    pipeline: Pipeline,
) -> tuple[tuple[Cluster, ...], tuple[tuple[str, str], ...]]:
    """The images and Funcs of a pipeline, and which reads which, for a drawing."""
    images = [
        GraphNode(one.name, f"{one.type}, {one.dimensions}-d", "input") for one in pipeline.images
    ]
    funcs = [
        GraphNode(
            one.name,
            f"{', '.join(map(str, one.types))} ({', '.join(one.args)})",
            "output" if one.name in pipeline.outputs else "computed",
        )
        for one in pipeline.functions
    ]
    edges = ((read, one.name) for one in pipeline.functions for read in one.callees)
    return (Cluster("", (*images, *funcs)),), tuple(edges)


def _listed(rows: list[tuple[Cell, ...]]) -> Table:
    return Table(("Func", "type", "dimensions", "reads"), tuple(rows))


def _image_row(image: Image) -> tuple[Cell, ...]:
    return f"{image.name} (input)", str(image.type), f"{image.dimensions}-d", ""


def _func_rows(pipeline: Pipeline, most: int) -> list[tuple[Cell, ...]]:
    return [_func_row(one, pipeline) for one in pipeline.functions[:most]]


def _func_row(function: Function, pipeline: Pipeline) -> tuple[Cell, ...]:
    role = " (output)" if function.name in pipeline.outputs else ""
    types, reads = ", ".join(map(str, function.types)), ", ".join(function.callees)
    return function.name + role, types, ", ".join(function.args), reads


def _estimates(pipeline: Pipeline) -> Iterator[tuple[str, str]]:
    for one in pipeline.estimates[:_LISTED]:
        yield one.buffer, " × ".join(f"{extent:,}" for _, extent in one.ranges) or "one value"


@shown_card.register
def _(schedule: Schedule) -> Card:
    inlined = sum(entry.compute.is_inline for entry in schedule.funcs)
    about = f"{amount(len(schedule.funcs), 'Func')}, {inlined} inlined"
    return card("Schedule", about, Listing(str(schedule)))
