"""How our code is made where tests compare its values with Halide's."""

from collections.abc import Iterator

import pytest

from tests.differential.quick_code import quick_code


@pytest.fixture(autouse=True)
def _quickly() -> Iterator[None]:
    """Without LLVM's optimiser: these tests are about what the two libraries compute."""
    with quick_code():
        yield
