"""One logger, quiet unless somebody asks."""

from __future__ import annotations

import logging
import subprocess
import sys

from tests.apps.command_line import spaces

SEARCH = ["search", "blur", "--options", "small", "--strategy", "reuse-analysis"]


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *arguments], capture_output=True, text=True, check=True)


def test_a_library_says_nothing_of_its_own() -> None:
    code = (
        "import logging, spaces\n"
        "logging.getLogger('spaces.tuning').error('a part has something to say')\n"
    )
    assert run("-c", code).stderr == ""


def test_programs_hear_it_if_they_listen() -> None:
    code = (
        "import logging, spaces\n"
        "logging.basicConfig(level=logging.DEBUG)\n"
        "cpu = spaces.device('cpu')\n"
        "space = spaces.ScheduleSpace(spaces.APPS['blur'].pipeline(), cpu)\n"
        "next(spaces.search(space, 'reuse', 'exhaustive'))\n"
    )
    assert "DEBUG:spaces.search:searching blur on cpu by" in run("-c", code).stderr


def test_the_command_line_is_verbose_on_demand() -> None:
    shown, quiet = spaces(*SEARCH)
    told = run("-m", "spaces", "--verbose", *SEARCH)
    assert "spaces.search:" not in quiet
    assert "spaces.search: searching blur on cpu by" in told.stderr
    assert told.stdout.splitlines()[0] == shown.splitlines()[0]


def test_a_command_leaves_the_log_as_it_was() -> None:
    """A program that calls it has a log of its own."""
    logger = logging.getLogger("spaces")
    before = (logger.level, list(logger.handlers))
    for options in ((), ("--verbose",)):
        spaces(*options, "list")
        assert (logger.level, logger.handlers) == before
