"""A plugin for pytest: as many examples as `make test` draws; those that fail are not made smaller,
which takes time nobody needs.
"""

from __future__ import annotations

from hypothesis import Phase, settings


def pytest_configure() -> None:
    settings.register_profile(
        "unshrunk", settings.get_profile("spaces"), phases=(Phase.explicit, Phase.generate)
    )
    settings.load_profile("unshrunk")
