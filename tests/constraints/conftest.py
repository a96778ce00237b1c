"""What tests of rules and repairs share."""

from __future__ import annotations

import attrs
import pytest

from spaces.constraints.legality import kept_values
from spaces.model.memo import Memo


@pytest.fixture
def few_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """The solver gives up soon on what it can't prove of windows; no answer is remembered."""
    few = tuple(attrs.evolve(one, steps=one.steps // 10) for one in kept_values.BY_STEPS)
    monkeypatch.setattr(kept_values, "BY_STEPS", few)
    monkeypatch.setattr(kept_values, "_outcomes", Memo(4096))
