"""The prices of the cost model ``reuse`` that fit a machine."""

from __future__ import annotations

import json

import attrs

from spaces.cost.cpu.prices import Prices


def prices_to_json(prices: Prices) -> str:
    """The prices as JSON."""
    return json.dumps(attrs.asdict(prices))


def prices_from_json(text: str) -> Prices:
    """The prices of :func:`prices_to_json`; a price that the text lacks has its default."""
    known = {one.name for one in attrs.fields(Prices)}
    return Prices(**{name: value for name, value in json.loads(text).items() if name in known})
