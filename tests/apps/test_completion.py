"""What a shell is offered after the first letters of an argument."""

import pytest
from typer.testing import CliRunner

from spaces.apps.command_line.program import program

OFFERED = [
    ("se", ["search"]),
    ("show unsh", ["unsharp"]),
    ("verify bl", ["blur"]),
    ("explain bl", ["blur"]),
    ("explain blur cpu default --cost roof", ["roofline"]),
    ("search guided", ["guided_filter"]),
    ("verify blur --device h1", ["h100", "h100 pcie"]),
    ("search blur --strategy stage", ["stagewise"]),
    ("search blur --cost roof", ["roofline"]),
    ("tune blur --strategy evol", ["evolving"]),
    ("rules order.u", ["order.unknown-loop"]),
]


@pytest.mark.parametrize(("words", "offered"), OFFERED)
def test_names_are_offered(words, offered):
    line = f"spaces {words}"
    shell = {"COMP_WORDS": line, "COMP_CWORD": str(len(line.split()) - 1)}
    asked = {"_SPACES_COMPLETE": "complete_bash", **shell}
    told = CliRunner().invoke(program, env=asked, prog_name="spaces")
    assert told.exit_code == 0, told.output
    found = told.stdout.split("\n")[:-1]
    assert set(offered) <= set(found)
    assert all(name.startswith(words.split()[-1]) for name in found)
