"""How code is made where tests are about the printer."""

import pytest


@pytest.fixture(autouse=True)
def _quickly() -> None:
    """As for a user: LLVM's optimiser sees the code."""
