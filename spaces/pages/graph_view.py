"""The picture of the Funcs of a schedule: who reads whom, and who is computed inside whom."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from spaces.markup.element import Markup
from spaces.markup.graph import Cluster, GraphNode, graph_svg
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.schedules.schedule import Schedule


def graph_view(pipeline: Pipeline, schedule: Schedule) -> Markup:
    """The graph of a schedule: a frame around each Func at root and all that is computed in its
    loops, or inlined into it; inlined Funcs are faded. Images stand outside.
    """
    homes = _homes(pipeline, schedule)
    members: dict[str, list[GraphNode]] = {}
    for function in pipeline.functions:
        home = homes[function.name]
        members.setdefault(home, []).append(_node(function.name, pipeline, schedule))
    images = tuple(
        GraphNode(image.name, f"{image.type} image", "input", image.name)
        for image in pipeline.images
    )
    clusters = [Cluster("", images)] if images else []
    clusters += [
        Cluster(f"in the loops of {home}" if len(nodes) > 1 else "", tuple(nodes))
        for home, nodes in sorted(members.items(), key=lambda item: pipeline.places[item[0]])
    ]
    edges = [(read, one.name) for one in pipeline.functions for read in one.callees]
    return graph_svg(clusters, edges, f"The Funcs of {pipeline.name} under this schedule")


def _node(name: str, pipeline: Pipeline, schedule: Schedule) -> GraphNode:
    entry = schedule.of(name)
    if entry.compute.is_inline:
        return GraphNode(name, "inlined", "inlined", name)
    kind = "output" if name in pipeline.outputs else "computed"
    if entry.compute.is_root:
        return GraphNode(name, "at root", kind, name)
    stored = "" if entry.store == entry.compute else f", kept at {entry.store}"
    return GraphNode(name, f"at {entry.compute}{stored}", kind, name)


def _homes(pipeline: Pipeline, schedule: Schedule) -> Mapping[str, str]:
    """For each Func the one at root in whose loops it is computed; an inlined Func belongs to the
    first of its readers.
    """
    found: dict[str, str] = {}
    for function in reversed(pipeline.functions):
        level = schedule.of(function.name).compute
        outer = ""
        if level.is_inline:
            outer = next(iter(_readers(function.name, pipeline, found)), "")
        elif not level.is_root:
            outer = level.func
        found[function.name] = found.get(outer, function.name)
    return found


def _readers(name: str, pipeline: Pipeline, known: Mapping[str, str]) -> Iterator[str]:
    return (reader for reader in pipeline.consumers(name) if reader in known)
