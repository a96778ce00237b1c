"""What pipelines, schedules and loop nests show in a notebook."""

from __future__ import annotations

from collections.abc import Iterator

from spaces.markup.card import card, facts, listing
from spaces.markup.element import Child, Markup, table, tag
from spaces.markup.graph import Cluster, GraphNode, graph_svg
from spaces.model.algorithm.pipeline import Function, Pipeline
from spaces.model.amounts import amount
from spaces.model.nest.loopnest import LoopNest
from spaces.model.nest.nest_text import nest_rows, written_at_estimates
from spaces.model.schedules.schedule import Schedule
from spaces.model.showing import MOST_LINES, few_lines, shown_html

DRAWN = 24
"""A card draws the graph of at most this many Funcs and images; of more it lists some."""

_LISTED = 12


@shown_html.register
def _(pipeline: Pipeline) -> Markup:
    count = len(pipeline.functions) + len(pipeline.images)
    about = f"{amount(len(pipeline.functions), 'Func')}, {amount(len(pipeline.images), 'image')}"
    body: Child
    if count <= DRAWN:
        body = graph_svg(*pipeline_graph(pipeline), f"The Funcs of {pipeline.name}")
    else:
        rows = [_row(one, pipeline) for one in pipeline.functions[:_LISTED]]
        listed = table(("Func", "type", "dimensions", "reads"), rows)
        left = len(pipeline.functions) - _LISTED
        more = tag("p", f"... and {left:,} more Funcs", class_="quiet") if left > 0 else None
        body = [listed, more]
    return card(f"Pipeline {pipeline.name}", about, body, facts(dict(_estimates(pipeline))))


def pipeline_graph(pipeline: Pipeline) -> tuple[list[Cluster], list[tuple[str, str]]]:
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
    edges = [(read, one.name) for one in pipeline.functions for read in one.callees]
    return [Cluster("", (*images, *funcs))], edges


def _row(function: Function, pipeline: Pipeline) -> list[Child]:
    role = " (output)" if function.name in pipeline.outputs else ""
    types, reads = ", ".join(map(str, function.types)), ", ".join(function.callees)
    return [function.name + role, types, ", ".join(function.args), reads]


def _estimates(pipeline: Pipeline) -> Iterator[tuple[str, Child]]:
    for one in pipeline.estimates[:_LISTED]:
        yield one.buffer, " × ".join(f"{extent:,}" for _, extent in one.ranges) or "one value"


@shown_html.register
def _(schedule: Schedule) -> Markup:
    inlined = sum(entry.compute.is_inline for entry in schedule.funcs)
    about = f"{amount(len(schedule.funcs), 'Func')}, {inlined} inlined"
    return card("Schedule", about, listing(str(schedule)))


@shown_html.register
def _(nest: LoopNest) -> Markup:
    written = written_at_estimates(nest)
    rows = nest_rows(nest.body, written=written)
    text = few_lines(
        ("  " * row.depth + row.text for row in rows), MOST_LINES, "lines (format_nest has all)"
    )
    return card(f"Loop nest of {nest.pipeline.name}", "at the estimates", listing(text))
