"""Add loops that the library does not have, and let a search use them.

The pattern computes two rows at a time, so that a vector of the row between is loaded once.
``python examples/own_pattern.py`` prints::

    6 legal schedules; the model likes best
    root
    └─ parallel blur_y.y
       └─ for blur_y.ys
          └─ for blur_y.x
             └─ unrolled blur_y.yp
                └─ vectorized blur_y.xv
                   └─ compute blur_y
                      └─ inline blur_x
"""

import spaces
from spaces import DomainOrder, LoopKind, Options, OrderedLoop, Pattern, ScheduleSpace, Shape, Split


def row_pairs(shape: Shape) -> Pattern | None:
    """Strips of rows in parallel; inside, two rows at a time in vectors."""
    if len(shape.free) < 2 or shape.bound:
        return None  # the pattern does not suit the stage
    x, y, *outer = shape.free
    rows, pair, lanes = f"{y}s", f"{y}p", f"{x}v"
    splits = (Split(y, y, rows, "rows"), Split(rows, rows, pair, 2), Split(x, x, lanes, "lanes"))
    loops = (
        *(OrderedLoop(name) for name in reversed(outer)),
        OrderedLoop(y, LoopKind.PARALLEL),
        OrderedLoop(rows),
        OrderedLoop(x),
        OrderedLoop(pair, LoopKind.UNROLLED),
        OrderedLoop(lanes, LoopKind.VECTORIZED),
    )
    return Pattern(DomainOrder(splits, loops), (("rows", (16, 32, 64)), ("lanes", (8, 16))))


def main() -> None:
    """Counts and searches a space whose loops at root are of this pattern."""
    spaces.register_pattern("row_pairs", row_pairs)
    blur, device = spaces.APPS["blur"].pipeline(), spaces.device("cpu")
    mine = Options(root=("row_pairs",), placements=("inline",))
    space = ScheduleSpace(blur, device, mine)
    print(space.count(), "legal schedules; the model likes best")
    found = spaces.best(spaces.search(space, "weighted", "exhaustive")).best[0].schedule
    print(spaces.format_tree(spaces.schedule_tree(blur, found)))


if __name__ == "__main__":
    main()
