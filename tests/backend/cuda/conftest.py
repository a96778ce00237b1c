"""How tests of GPU code build their texts for the CPU."""

from collections.abc import Iterator
from unittest import mock

import pytest

from spaces.backend.cuda import emulator


@pytest.fixture(autouse=True)
def _quickly() -> Iterator[None]:
    """Without g++'s optimiser, in half of the time. Sanitizers look for undefined behaviour, and
    runs of whole apps show what the optimiser makes of a text.
    """
    with mock.patch.object(emulator, "_FLAGS", ("-O0", "-fPIC", "-shared")):
        yield
