"""Records that show themselves as cards, in notebooks and on terminals."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from spaces.markup.card import Card
from spaces.markup.card_html import card_html


class ShowsCard:
    """Shows a card in notebooks, and where rich prints on a terminal: ``rich.print(record)``.

    Records of this kind say in ``_card`` what stands on it.
    """

    __slots__ = ()

    def _card(self) -> Card:
        raise NotImplementedError(f"{type(self).__name__} does not say what its card shows.")

    def _repr_html_(self) -> str:
        return card_html(self._card())

    def __rich__(self) -> Any:
        # Only rich asks, so it is there; who never asks, never waits for its import.
        return import_module("spaces.markup.card_terminal").TerminalCard(self._card())
