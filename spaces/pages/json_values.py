"""Records as the types of JSON."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any


def json_value(value: Any) -> Any:
    """Dictionaries, lists, numbers and texts instead of what stands for them; a number that JSON
    does not have is a text.
    """
    if isinstance(value, Mapping):
        return {str(name): json_value(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [json_value(inner) for inner in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value if isinstance(value, int | float | str | None) else str(value)
