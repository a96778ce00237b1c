"""Guide lines of trees."""

from spaces.markup.tree import guide, guide_past, last_at_levels


def drawn(depths):
    paths = last_at_levels(depths)
    return [guide(path) + str(depth) for depth, path in zip(depths, paths, strict=True)]


def test_guides_join_each_row_with_its_parent():
    assert drawn([0, 1, 2, 2, 1, 2, 0, 1]) == [
        "0",
        "├─ 1",
        "│  ├─ 2",
        "│  └─ 2",
        "└─ 1",
        "   └─ 2",
        "0",
        "└─ 1",
    ]


def test_what_belongs_to_a_row_stands_past_its_guides():
    assert guide_past((False, True)) == "│     "
    assert guide(()) == guide_past(()) == ""
