"""Why a directive that adds a Func cannot be applied."""

from __future__ import annotations

from attrs import frozen

from spaces.model.schedules.derivations import Derivation


@frozen
class Refusal(Exception):
    """A derivation that cannot be applied.

    Attributes:
        rule: the id of the rule that it breaks.
        step: the derivation.
        message: what is wrong.
        advice: what to do instead.
    """

    rule: str
    step: Derivation
    message: str
    advice: str
