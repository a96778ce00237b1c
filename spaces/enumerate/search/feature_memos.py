"""What searches remember of the features of nests."""

from __future__ import annotations

from functools import lru_cache

from spaces.features.extraction import FeatureMemo
from spaces.model.nest.nest_memo import NestMemo


@lru_cache(maxsize=16)
def feature_memo(nests: NestMemo) -> FeatureMemo:
    """What the features of similar nests have in common, for all searches of one space.

    Args:
        nests: what the nests of the space have in common (``ScheduleSpace.nests``).
    """
    return FeatureMemo(nests)
