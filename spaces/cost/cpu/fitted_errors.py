"""How far the prices of the cost model ``reuse`` are wrong."""

from __future__ import annotations

import tomllib
from pathlib import Path

from spaces.cost.errors import PriceErrors

FILE = Path(__file__).with_name("errors.toml")
"""What ``python -m bench errors`` fitted to measured schedules."""

ERRORS = PriceErrors(**tomllib.loads(FILE.read_text("utf-8")))
"""The errors of prices with all terms."""
