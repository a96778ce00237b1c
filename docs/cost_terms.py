"""The page of the terms: ``python -m docs.cost_terms`` writes ``docs/cost_terms.md``."""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterator
from pathlib import Path

from bench.cost_quality.measured_sets import MeasuredSet
from bench.cost_quality.ranks import FILE, Ranks, table
from spaces.cost.cpu.catalogue import TERMS
from spaces.cost.cpu.prices import Prices
from spaces.cost.cpu.term import FITTED, KINDS

PAGE = Path(__file__).with_name("cost_terms.md")

SHOWN = (MeasuredSet.APPS, MeasuredSet.RANDOM, MeasuredSet.JUDGE)
"""The sets of pipelines in the table."""

_HEAD = f"""\
<!-- Made by `python -m docs.cost_terms` from the terms; change those, not this. -->

# The terms of the cost model `reuse`

On a CPU a schedule costs the cycles of the slowest core: a sum of terms. Each term is a function
in `spaces/cost/cpu/terms` and owns some prices, in cycles of one core. A term whose prices are all
0 is off. Loads and stores, operations, and waits for own results run side by side in a stage, so
only the longest of the three counts there. All else adds up.

`spaces.price` shows the terms of one part together, and `spaces.explain` compares two schedules by
these parts ([find a
schedule](how_to/find_a_schedule.md#ask-why-one-is-better)). `Reuse.without` leaves terms out:

```python
from spaces import device
from spaces.cost.cpu.reuse import Reuse

model = Reuse.of(device("cpu")).without("missing pointers", "stalls")
```

Where the last column is empty, a price is {FITTED}.

| part | term | what it counts | cycles | price | default | of | source |
| --- | --- | --- | --- | --- | --- | --- | --- |
"""

_RANKS = """
## Ranks without a term

`python -m bench ranks` leaves out each term in turn and prices the measured schedules of each set
of pipelines: Spearman's correlation of costs and times, median and lower quartile over them,
and by how much the cheapest schedule is slower than the fastest, on average. A small loss does not
prove that a term is idle: most of these schedules are random, and a search visits extremes.

"""


def page() -> str:
    """The whole page."""
    ranks = {
        name: {kind: Ranks(**figures) for kind, figures in of.items() if kind in SHOWN}
        for name, of in json.loads(FILE.read_text("utf-8")).items()
    }
    return _HEAD + "\n".join(_rows()) + "\n" + _RANKS + table(ranks) + "\n"


def _rows() -> Iterator[str]:
    """A row for each price, and for each term without one."""
    prices = Prices()
    for one in sorted(TERMS, key=lambda one: KINDS.index(one.kind)):
        text = (inspect.getdoc(one.function) or "").partition("\n\n")[0]
        says = " ".join(text.replace("``", "`").split())
        start = (one.kind.part, f"`{one.name}`", says, one.kind.counts)
        for price in one.owns:
            source = "" if price.source == FITTED else price.source
            yield _row(
                *start, f"`{price.name}`", f"{getattr(prices, price.name):g}", price.per, source
            )
            start = ("", "", "", "")
        if not one.owns:
            yield _row(*start, "those of others", "", "", "")


def _row(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
