"""A graph in layers as SVG: sources at the top, each node below all that it follows.

Nodes lie in clusters. A cluster is laid out alone, and then the clusters among each other, so that
no cluster covers a node of another one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from itertools import pairwise
from typing import TypeAlias

from attrs import field, frozen

from spaces.markup.element import Markup, tag

_HIGH, _GAP, _LEVEL = 40.0, 18.0, 34.0
"""The height of a node, the gap between neighbours, and the room for edges between layers."""

_PAD, _HEAD = 12.0, 20.0
"""The margin inside a cluster, and the height of its label."""

_CHARACTER, _LEAST, _MOST = 7.3, 76.0, 200.0
"""The width of a character, and the least and the largest width of a node."""

_THIN = 6.0
"""The width of the gap that an edge takes where it passes nodes."""

_OUTSIDE = 3.0
"""The distance of an edge from the clusters of a row that it passes."""

_ROW = 1200.0
"""Clusters that do not wait for each other share a row of about this width."""


@frozen
class GraphNode:
    """A node.

    Attributes:
        name: unique in the graph.
        note: a second line, in smaller letters.
        kind: classes for the style sheet, such as ``input`` or ``output``.
        mark: the value of ``data-func``, by which scripts find what belongs together.
    """

    name: str
    note: str = ""
    kind: str = ""
    mark: str | None = None

    @property
    def width(self) -> float:
        """Wide enough for its texts, within limits."""
        letters = max(len(self.name) * _CHARACTER, len(self.note) * 5.9) + 20
        return min(max(letters, _LEAST), _MOST)


@frozen
class Cluster:
    """Nodes that belong together; without a label they have no frame."""

    label: str
    nodes: tuple[GraphNode, ...]


@frozen
class _Box:
    x: float
    y: float
    width: float
    height: float

    def moved(self, x: float, y: float) -> _Box:
        return _Box(self.x + x, self.y + y, self.width, self.height)

    @property
    def middle(self) -> float:
        return self.x + self.width / 2


Edge: TypeAlias = tuple[str, str]
"""A node, and one that follows it."""


@frozen
class _PlacedCluster:
    """A cluster that is laid out: places relative to its corner.

    Attributes:
        bends: for each edge that passes layers of it the gaps that it goes through, from its source
            on.
    """

    cluster: Cluster
    places: Mapping[str, _Box]
    bends: Mapping[Edge, Sequence[_Box]]
    width: float
    height: float


@frozen
class _PlacedGraph:
    rows: Sequence[Sequence[tuple[_PlacedCluster, float, float]]]
    """The clusters, each with its corner."""
    edges: Sequence[Edge]
    width: float
    height: float
    blocks: Sequence[tuple[_PlacedCluster, float, float]] = field(init=False)
    nodes: Mapping[str, _Box] = field(init=False)
    bends: Mapping[Edge, Sequence[_Box]] = field(init=False)

    @nodes.default
    def _absolute(self) -> Mapping[str, _Box]:
        return {
            name: box.moved(x, y)
            for block, x, y in self.blocks
            for name, box in block.places.items()
        }

    @blocks.default
    def _all_blocks(self) -> Sequence[tuple[_PlacedCluster, float, float]]:
        return [one for row in self.rows for one in row]

    @bends.default
    def _absolute_bends(self) -> Mapping[Edge, Sequence[_Box]]:
        """Gaps in the cluster of the source, in the rows between, and in that of the target."""
        home = {n: (i, at) for i, row in enumerate(self.rows) for at in row for n in at[0].places}
        found: dict[Edge, list[_Box]] = {}
        for edge in self.edges:
            (first, from_), (last, to) = home[edge[0]], home[edge[1]]
            ends = [from_] if from_ is to else [from_, to]
            parts = [[box.moved(x, y) for box in one.bends.get(edge, ())] for one, x, y in ends]
            leaving = parts[0]
            for row in self.rows[first + 1 : last]:
                leaving.append(_beside(row, (leaving or [self.nodes[edge[0]]])[-1].middle))
            found[edge] = [box for part in parts for box in part]
        return found


def _beside(row: Sequence[tuple[_PlacedCluster, float, float]], x: float) -> _Box:
    """The gap beside the clusters of a row that is nearest to a place."""
    ends = [(left, left + block.width) for block, left, _ in row]
    places = [ends[0][0] - _OUTSIDE, ends[-1][1] + _OUTSIDE]
    places += [(end + start) / 2 for (_, end), (start, _) in pairwise(ends)]
    y, height = row[0][2], max(block.height for block, _, _ in row)
    return _Box(min(places, key=lambda one: abs(one - x)), y, 0.0, height)


@frozen
class _Order:
    """Layers of things that follow each other."""

    follows: Mapping[str, Sequence[str]]
    """For each thing, those that come before it."""

    @cached_property
    def depth(self) -> Mapping[str, int]:
        """The layer of each thing: one more than that of all before it. Things are in an order in
        which each comes after those that it follows; others of what it names do not count.
        """
        found: dict[str, int] = {}
        for name, before in self.follows.items():
            found[name] = max((found[b] + 1 for b in before if b in found), default=0)
        return found

    def layers(self) -> list[list[str]]:
        """The things by layer, each near the middle of those that it follows."""
        result: list[list[str]] = []
        for name, depth in self.depth.items():
            while len(result) <= depth:
                result.append([])
            result[depth].append(name)
        place: dict[str, float] = {}
        for layer in result:
            layer.sort(key=lambda name: self._middle(name, place))
            place |= {name: i - (len(layer) - 1) / 2 for i, name in enumerate(layer)}
        return result

    def _middle(self, name: str, place: Mapping[str, float]) -> float:
        known = [place[b] for b in self.follows[name] if b in place]
        return sum(known) / len(known) if known else 0.0


def graph_svg(clusters: Iterable[Cluster], edges: Iterable[Edge], title: str = "") -> Markup:
    """The drawing of a graph.

    Args:
        clusters: the nodes, those that others follow first, also among clusters.
        edges: pairs of names; the second follows the first.
        title: what the drawing shows, for readers who cannot see it.
    """
    placed, pairs = tuple(clusters), tuple(dict.fromkeys(edges))
    before: dict[str, list[str]] = {n.name: [] for c in placed for n in c.nodes}
    for source, target in pairs:
        if source in before and target in before and source != target:
            before[target].append(source)
    layout = _arranged([_block(cluster, before) for cluster in placed], before)
    framed = [(block, x, y) for block, x, y in layout.blocks if block.cluster.label]
    shapes = [_frame(*one) for one in framed]
    marks = {n.name: n.mark for c in placed for n in c.nodes}
    shapes += [
        _edge(layout, (source, target), marks)
        for target, sources in before.items()
        for source in sources
    ]
    shapes += [_label(block.cluster.label, x, y) for block, x, y in framed]
    shapes += [_node(node, layout.nodes[node.name]) for c in placed for node in c.nodes]
    width, height = f"{layout.width:.0f}", f"{layout.height:.0f}"
    return tag(
        "svg",
        tag("title", title) if title else None,
        shapes,
        viewBox=f"0 0 {width} {height}",
        width=width,
        height=height,
        role="img",
    )


def _block(cluster: Cluster, before: Mapping[str, Sequence[str]]) -> _PlacedCluster:
    """The places of the nodes of one cluster."""
    nodes = {node.name: node for node in cluster.nodes}
    order = _Order({name: [b for b in before[name] if b in nodes] for name in nodes})
    outer = [(source, name) for name in nodes for source in before[name] if source not in nodes]
    outer += [
        (name, target)
        for target, sources in before.items()
        for name in sources
        if name in nodes and target not in nodes
    ]
    chains = _chains(order, outer)
    gaps = {gap: _THIN for chain in chains.values() for gap in chain}
    widths = {name: node.width for name, node in nodes.items()} | gaps
    layers = _with_gaps(order, chains).layers()
    wide = [sum(widths[n] for n in row) + _GAP * (len(row) - 1) for row in layers]
    framed = bool(cluster.label)
    pad, head = (_PAD, _HEAD) if framed else (0.0, 0.0)
    inner = max([*wide, len(cluster.label) * 6.4 if framed else 0.0])
    places: dict[str, _Box] = {}
    for depth, (row, width) in enumerate(zip(layers, wide, strict=True)):
        x, y = pad + (inner - width) / 2, pad + head + depth * (_HIGH + _LEVEL)
        for name in row:
            places[name] = _Box(x, y, widths[name], _HIGH)
            x += widths[name] + _GAP
    height = len(layers) * (_HIGH + _LEVEL) - _LEVEL + 2 * pad + head
    bends = {edge: [places[gap] for gap in chain] for edge, chain in chains.items()}
    own = {name: places[name] for name in nodes}
    return _PlacedCluster(cluster, own, bends, inner + 2 * pad, height)


def _chains(order: _Order, outer: Iterable[Edge]) -> dict[Edge, list[str]]:
    """For each edge that passes layers a gap in each of them.

    Args:
        order: the nodes of a cluster.
        outer: the edges between a node of it and one elsewhere: they come from above its layers, or
            leave them below.
    """
    inner = ((source, target) for target, sources in order.follows.items() for source in sources)
    end = max(order.depth.values(), default=-1) + 1
    found = {}
    for source, target in (*inner, *outer):
        layers = range(order.depth.get(source, -1) + 1, order.depth.get(target, end))
        if layers:
            found[source, target] = [f"{source}\0{target}\0{layer}" for layer in layers]
    return found


def _with_gaps(order: _Order, chains: Mapping[Edge, Sequence[str]]) -> _Order:
    """The same order, in which gaps take their places between the nodes of the layers."""
    follows: dict[str, list[str]] = {}
    ends: dict[str, list[str]] = {
        target: [source for source in sources if (source, target) not in chains]
        for target, sources in order.follows.items()
    }
    by_source: dict[str, list[Edge]] = {}
    for edge in chains:
        by_source.setdefault(edge[0], []).append(edge)

    def follow(source: str) -> None:
        for edge in by_source.get(source, ()):
            before = [source] if source in order.follows else []
            for gap in chains[edge]:
                follows[gap], before = before, [gap]
            if edge[1] in ends:
                ends[edge[1]] += before

    for source in by_source:
        if source not in order.follows:
            follow(source)
    for name in order.follows:
        follows[name] = ends[name]
        follow(name)
    return _Order(follows)


def _arranged(
    blocks: Sequence[_PlacedCluster], before: Mapping[str, Sequence[str]]
) -> _PlacedGraph:
    """The blocks in rows, each below those that it waits for."""
    home = {name: str(i) for i, block in enumerate(blocks) for name in block.places}
    follows = {
        str(i): [home[b] for n in block.places for b in before[n] if home[b] != str(i)]
        for i, block in enumerate(blocks)
    }
    rows: list[list[_PlacedCluster]] = []
    for layer in _Order(follows).layers():
        row: list[_PlacedCluster] = []
        for block in (blocks[int(name)] for name in layer):
            if row and sum(b.width + _GAP for b in row) + block.width > _ROW:
                rows.append(row)
                row = []
            row.append(block)
        rows.append(row)
    widths = [sum(b.width for b in row) + _GAP * (len(row) - 1) for row in rows]
    whole = max(widths, default=0.0)
    placed, y = [], 4.0
    for row, width in zip(rows, widths, strict=True):
        x, found = 4.0 + (whole - width) / 2, []
        for block in row:
            found.append((block, x, y))
            x += block.width + _GAP
        placed.append(found)
        y += max(b.height for b in row) + _LEVEL
    edges = [(source, target) for target, sources in before.items() for source in sources]
    return _PlacedGraph(placed, edges, whole + 8.0, y - _LEVEL + 4.0)


def _frame(block: _PlacedCluster, x: float, y: float) -> Markup:
    return tag(
        "rect",
        x=f"{x:.0f}",
        y=f"{y:.0f}",
        width=f"{block.width:.0f}",
        height=f"{block.height:.0f}",
        rx=8,
        class_="frame",
    )


def _label(text: str, x: float, y: float) -> Markup:
    """The label of a frame; edges pass below it."""
    return tag("text", text, x=f"{x + 10:.0f}", y=f"{y + 17:.0f}", class_="quiet label")


def _edge(layout: _PlacedGraph, edge: Edge, marks: Mapping[str, str | None]) -> Markup:
    source, target = layout.nodes[edge[0]], layout.nodes[edge[1]]
    x, y = source.middle, source.y + source.height
    path = [f"M{x:.0f} {y:.0f}"]
    for box in (*layout.bends.get(edge, ()), target):
        bend = max(abs(box.y - y) / 2, 12.0)
        end = f"{box.middle:.0f} {box.y:.0f}"
        path.append(f"C{x:.0f} {y + bend:.0f} {box.middle:.0f} {box.y - bend:.0f} {end}")
        x, y = box.middle, box.y + (0 if box is target else box.height)
        if box is not target:
            path.append(f"V{y:.0f}")
    first, second = (marks[name] for name in edge)
    return tag("path", d="".join(path), class_="edge", data_from=first, data_to=second)


def _node(node: GraphNode, box: _Box) -> Markup:
    middle = box.middle
    shape = tag(
        "rect",
        x=f"{box.x:.0f}",
        y=f"{box.y:.0f}",
        width=f"{box.width:.0f}",
        height=f"{box.height:.0f}",
        rx=5,
        class_="box",
    )
    line = box.y + (17 if node.note else 25)
    texts = [_text(_cut(node.name, box.width, _CHARACTER), middle, line)]
    if node.note:
        texts.append(_text(_cut(node.note, box.width, 5.9), middle, box.y + 31, "quiet"))
    full = tag("title", f"{node.name}: {node.note}" if node.note else node.name)
    return tag("g", full, shape, texts, class_=f"node {node.kind}".strip(), data_func=node.mark)


def _text(text: str, x: float, y: float, class_: str | None = None) -> Markup:
    return tag("text", text, x=f"{x:.0f}", y=f"{y:.0f}", text_anchor="middle", class_=class_)


def _cut(text: str, width: float, character: float) -> str:
    most = int((width - 8) / character)
    return text if len(text) <= most else f"{text[: max(most - 1, 1)]}…"
