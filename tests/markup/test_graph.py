"""Drawings of graphs: every node has a place of its own, and edges point down."""

import itertools
import re

from hypothesis import given, settings
from hypothesis import strategies as st

from spaces.markup.graph import Cluster, GraphNode, graph_svg
from tests.draw_counts import examples
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


def points(path):
    """Points along a path of curves and vertical lines."""
    steps = re.findall(r"([MCV])([^MCV]*)", path)
    x, y = map(int, steps[0][1].split())
    for kind, numbers in steps[1:]:
        told = list(map(int, numbers.split()))
        if kind == "V":
            yield x, told[0]
            y = told[0]
            continue
        a, b, c, d, end_x, end_y = told
        for t in (i / 20 for i in range(21)):
            left = 1 - t
            yield (
                left**3 * x + 3 * left**2 * t * a + 3 * left * t**2 * c + t**3 * end_x,
                left**3 * y + 3 * left**2 * t * b + 3 * left * t**2 * d + t**3 * end_y,
            )
        x, y = end_x, end_y


@settings(max_examples=examples(40))
@given(
    upper=st.integers(1, 4),
    between=st.integers(0, 3),
    lower=st.integers(1, 6),
    drawn=st.sets(st.tuples(st.integers(0, 12), st.integers(0, 12)), max_size=16),
)
def test_edges_between_frames_pass_no_node(upper, between, lower, drawn):
    """They take a gap in each layer above their target and below their source, and pass beside the
    frames in between.
    """
    names = [f"n{i}" for i in range(upper + between + lower)]
    nodes = {name: GraphNode(name, mark=name) for name in names}
    clusters = [
        Cluster(label, tuple(nodes[name] for name in found))
        for label, found in (
            ("above", names[:upper]),
            ("between", names[upper : upper + between]),
            ("below", names[upper + between :]),
        )
        if found
    ]
    edges = [(names[a], names[b]) for a, b in sorted(drawn) if a < b < len(names)]
    edges = list({*edges, *itertools.pairwise(names[upper - 1 :])})
    svg = graph_svg(clusters, edges)
    placed = boxes(svg)
    paths = re.findall(r'<path d="([^"]*)" class="edge" data-from="([^"]*)" data-to="([^"]*)"', svg)
    assert len(paths) == len(edges)
    for path, source, target in paths:
        for name in placed.keys() - {source, target}:
            left, top, width, height = placed[name]
            for x, y in points(path):
                assert not (left < x < left + width and top < y < top + height), (source, target)


def test_hostile_names_are_text():
    name = "<script>alert('x')</script>"
    node = GraphNode(name, note="</svg>", mark='"><b>')
    read = Read(graph_svg([Cluster("<i>", (node,))], [], title="</title>"))
    assert {tag for tag, _ in read.elements} == {"svg", "title", "g", "rect", "text"}
    assert name[:10] in read.text
    assert any(a.get("data-func") == '"><b>' for a in read.all("g"))
