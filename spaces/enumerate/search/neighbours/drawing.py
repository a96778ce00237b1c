"""What draws the rewrites that searches of neighbours try."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import TypeAlias

from spaces.enumerate.search.pricer import Pricer
from spaces.enumerate.space.edits import DecidedSchedule, DecisionEdit

DrawRewrite: TypeAlias = Callable[[Pricer, DecidedSchedule, random.Random], DecisionEdit | None]
"""Draws another schedule that computes the same and may be cheaper; None if it finds none."""
