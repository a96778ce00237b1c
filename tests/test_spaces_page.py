"""The pages about spaces and about tuning print what they show, and list what there is."""

import re
from pathlib import Path

import pytest

import spaces
from tests.page_session import answers, is_shown

NAMES = spaces.strategy_names()
"""The strategies of the library, before any test registers one."""

GPU_LOOPS = {"gpu_blocks", "gpu_threads", "gpu_single_thread"}

ROOT = Path(__file__).parents[1]


def test_the_tables_have_every_strategy_and_directive():
    """What is not in these tables is left out by mistake."""
    text = (ROOT / "docs" / "spaces.md").read_text("utf-8")
    table = text.partition("## Strategies")[2].partition("\n\n`annealing`, ")[0]
    listed = set(re.findall(r"^\| `([\w-]+)`", table, re.MULTILINE))
    assert listed == set(NAMES)
    for device in map(spaces.device, ("cpu", "sm_80")):
        [row] = re.findall(r"^\| `Options.expert\(.*$", text, re.MULTILINE)
        written = {name.strip("_") for name in re.findall(r"`(\w+)`", row.split("|")[2])}
        of_kinds = {"split", "parallel", "vectorize", "unroll"} | GPU_LOOPS
        wanted = set(spaces.Options.expert(device).directives) - of_kinds
        assert written == {name.strip("_") for name in wanted}


@pytest.mark.parametrize("page", ["spaces.md", "tuning.md"])
def test_each_block_prints_what_is_shown(page, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    told = list(answers((ROOT / "docs" / page).read_text("utf-8")))
    assert len(told) > 5
    for block, printed, shown in told:
        assert is_shown(printed, shown), f"{block}\nprints\n{printed}"
    assert capsys.readouterr().err == ""
