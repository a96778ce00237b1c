"""Pages are what their generators make of them, and what they show is so."""

import re
import tomllib

import numpy as np
import pytest

import spaces
from docs import api, apps, cost_terms, directives
from docs.rules import HALIDE, PAGE, page
from spaces.apps.catalog import APPS
from spaces.apps.listing import FILE
from spaces.backend.reference import evaluate
from spaces.constraints.devices.device import device
from spaces.constraints.legality.verdict import CheckedSchedule
from spaces.constraints.legality.verify import verify
from spaces.constraints.rules.catalogue import ADVICE, RULES
from spaces.model.directives.declaration import DIRECTIVES
from spaces.model.directives.directives import Directives
from spaces.model.schedules.schedule import Schedule
from spaces.model.writing.text import format_schedule, parse_schedule

PAPERS = PAGE.with_name("papers.md")
SHOWN = {shown.name: shown for part in directives.PARTS.values() for shown in part}


def test_the_page_of_the_rules_is_up_to_date():
    made = page()
    assert PAGE.read_text("utf-8") == made, "python -m docs.rules makes it anew"
    for rule in (*RULES, *ADVICE):
        assert f"### `{rule.id}`" in made
        assert rule.statement in made


def test_the_page_of_the_terms_is_up_to_date():
    made = cost_terms.page()
    assert cost_terms.PAGE.read_text("utf-8") == made, "python -m docs.cost_terms makes it anew"
    assert "| `stall` | 20 | waiting for stores that a load needs parts of |" in made


def test_the_page_of_the_public_names_is_up_to_date():
    made = api.page()
    assert api.PAGE.read_text("utf-8") == made, "python -m docs.api makes it anew"
    entries = dict(re.findall(r"^### `(\w+)`\n(.*?)(?=^##|\Z)", made, re.MULTILINE | re.DOTALL))
    assert list(entries) == spaces.__all__
    for name, entry in entries.items():
        assert re.sub(r"```.*?```", "", entry, flags=re.DOTALL).strip(), f"{name} says nothing"
    assert " at 0x" not in made


def test_the_list_of_the_apps_is_up_to_date():
    assert FILE.read_text("utf-8") == apps.listed(), "python -m docs.apps makes it anew"


def test_the_page_of_the_papers_has_the_size_of_every_app():
    lines = PAPERS.read_text("utf-8").partition("## Sizes")[2].splitlines()
    cells = [[cell.strip() for cell in line.split("|")[1:4]] for line in lines if "|" in line]
    rows = [cell[0] for cell in cells[2:]]
    assert rows == list(APPS), "docs/papers.md needs a row for each app, in their order"
    for name, size, paper in cells[2:]:
        pipeline = APPS[name].pipeline()
        extents = [str(extent) for _, extent in pipeline.estimate(pipeline.outputs[0])]
        assert (size, paper) == (" x ".join(extents), APPS[name].sized_by)


def test_what_halide_refuses_is_covered_by_rules_or_explained():
    known = {rule.id for rule in (*RULES, *ADVICE)}
    checks = tomllib.loads(HALIDE.read_text("utf-8"))["check"]
    assert len({check["what"] for check in checks}) == len(checks) > 50
    for check in checks:
        assert set(check["rules"]) <= known
        assert check["rules"] or check["note"]


def test_the_page_of_the_directives_is_up_to_date():
    made = directives.page()
    assert directives.PAGE.read_text("utf-8") == made, "python -m docs.directives makes it anew"
    known = set(DIRECTIVES)
    assert SHOWN.keys() == known
    public = {name for name in dir(Directives) if not name.startswith("_")}
    # What selects a stage, and what the rest is made of, are no directives.
    selecting = {"func", "update", "derive", "pipeline", "schedule", "selected", "stage"}
    assert public - selecting - {"placed", "within"} == known


@pytest.mark.parametrize("name", SHOWN)
def test_an_example_of_a_directive_is_legal_and_says_it(name):
    shown, pipeline = SHOWN[name], directives.algorithm()
    parsed = parse_schedule(shown.example, pipeline)
    assert f"{DIRECTIVES[name].spelled}(" in shown.example
    assert isinstance(verify(pipeline, parsed, device(shown.device)), CheckedSchedule)
    assert parse_schedule(format_schedule(parsed, pipeline), pipeline) == parsed
    changes = parsed != Schedule.default(pipeline)
    assert changes or name in ("compute_inline", "serial")  # these take another back


@pytest.mark.parametrize("pasted", directives.PASTED)
def test_lines_of_cpp_on_the_page_are_read(pasted):
    pipeline = directives.algorithm()
    parsed = parse_schedule(pasted, pipeline, vector_bits=256)
    assert isinstance(verify(pipeline, parsed, device("cpu")), CheckedSchedule)


LANGUAGE = (directives.PAGE.parent / "language.md").read_text("utf-8")
PREAMBLE = "".join(re.findall(r"```python\n(.*?)```", LANGUAGE, re.DOTALL))
CONSTRUCTS = [m.replace("\\|", "|") for m in re.findall(r"^\| `(.*?)` \|", LANGUAGE, re.MULTILINE)]
INPUTS = {
    "image": np.arange(24 * 24, dtype=np.uint8).reshape(24, 24),
    "image16": np.zeros((24, 24), np.uint16),
    "wide": np.zeros((24, 24), np.int16) + 3,
    "real": np.full((24, 24), 0.5, np.float32),
}


@pytest.mark.parametrize("line", CONSTRUCTS)
def test_a_line_of_the_language_is_run(line):
    names = {}
    exec(PREAMBLE + line, names)
    outputs = [names[name] for name in "fgh" if names[name].definitions]
    assert outputs
    algorithm = spaces.pipeline(outputs)
    inputs = {image.name: INPUTS[image.name] for image in algorithm.images}
    sizes = {f.name: [4] * len(f.args) for f in outputs}
    found = evaluate(algorithm, inputs, sizes=sizes)
    assert len(found) == sum(len(f.types) for f in outputs)
    assert all(set(values.shape) == {4} for values in found.values())


def test_the_language_is_told_whole():
    listed = spaces.__all__[: spaces.__all__.index("schedule")]
    told = set(re.findall(r"\w+", LANGUAGE.replace("```", "")))
    assert set(listed) - told == {"Type", "DefinitionError"}
