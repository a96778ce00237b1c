"""Drawings of graphs: every node has a place of its own, and edges point down."""

import itertools
import re

from spaces.markup.graph import Cluster, GraphNode, graph_svg
from tests.pages_html import Read


def boxes(svg):
    """The (x, y, width, height) of each node, by its title."""
    shapes = re.findall(
        r"<title>([^<]*)</title><rect x=\"(-?\d+)\" y=\"(-?\d+)\" width=\"(\d+)\" height=\"(\d+)\"",
        svg,
    )
    return {name: tuple(map(int, numbers)) for name, *numbers in shapes}


def overlap(a, b):
    return a[0] < b[0] + b[2] and b[0] < a[0] + a[2] and a[1] < b[1] + b[3] and b[1] < a[1] + a[3]


NODES = {name: GraphNode(name) for name in ("image", "first", "left", "right", "last", "apart")}
EDGES = [
    ("image", "first"),
    ("first", "left"),
    ("first", "right"),
    ("left", "last"),
    ("right", "last"),
    ("image", "last"),
    ("apart", "last"),
    ("last", "last"),
]
CLUSTERS = [
    Cluster("", (NODES["image"], NODES["apart"])),
    Cluster("first", (NODES["first"],)),
    Cluster("last", (NODES["left"], NODES["right"], NODES["last"])),
]


def test_no_node_covers_another():
    for clusters in (CLUSTERS, [Cluster("", tuple(NODES.values()))]):
        placed = boxes(graph_svg(clusters, EDGES))
        assert placed.keys() == NODES.keys()
        for a, b in itertools.combinations(placed.values(), 2):
            assert not overlap(a, b), (a, b)
        for source, target in EDGES:
            if source != target:
                assert placed[source][1] + placed[source][3] < placed[target][1]


def test_an_edge_over_layers_goes_around_the_nodes_between():
    """image -> last passes two layers: its path has a bend in each, outside of their nodes."""
    nodes = tuple(NODES[name] for name in ("image", "first", "left", "last"))
    chain = [("image", "first"), ("first", "left"), ("left", "last"), ("image", "last")]
    svg = graph_svg([Cluster("", nodes)], chain)
    placed = boxes(svg)
    (path,) = (p for p in re.findall(r' d="([^"]*)"', svg) if p.count("C") == 3)
    ends = [tuple(map(int, end)) for end in re.findall(r" (-?\d+) (-?\d+)(?=[VC]|$)", path)]
    for (x, y), name in zip(ends, ("first", "left"), strict=False):
        left, top, width, _ = placed[name]
        assert y == top
        assert not left <= x <= left + width


def test_hostile_names_are_text():
    name = "<script>alert('x')</script>"
    node = GraphNode(name, note="</svg>", mark='"><b>')
    read = Read(graph_svg([Cluster("<i>", (node,))], [], title="</title>"))
    assert {tag for tag, _ in read.elements} == {"svg", "title", "g", "rect", "text"}
    assert name[:10] in read.text
    assert any(a.get("data-func") == '"><b>' for a in read.all("g"))
