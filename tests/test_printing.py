"""What people print is short, whatever the size of what it shows."""

import io
import pickle
from functools import cache
from typing import get_args

import attrs
import pytest
from rich.console import Console

import spaces
from spaces.constraints.legality.placed_violations import marked_line
from spaces.markup.card import Style, Styled, TreeRow, phrase_text
from spaces.markup.terminal_lines import STYLES
from spaces.model.nest.kind_styles import KIND_STYLES
from spaces.model.nest.nest_card import nest_tree
from spaces.model.schedules.domain_order import LoopKind
from tests.cpus import FOUR_CORES
from tests.differential.quick_code import quick_code
from tests.pages_html import Read

CPU, GPU = FOUR_CORES, spaces.device("sm_80")
APP = spaces.APPS["local_laplacian"]

MOST_LINES = 30
MOST_CHARACTERS = 500
MOST_IN_A_CARD = 8_000
"""A notebook of the tutorial stays under 300 KB."""


@cache
def by_hand(name):
    pipeline = APP.pipeline()
    text = APP.schedules[name].read_text()
    return pipeline, spaces.parse_schedule(text, pipeline, 256)


def objects():
    """Objects of a pipeline of a hundred Funcs, each with its name."""
    pipeline, cpu = by_hand("cpu")
    _, gpu = by_hand("gpu")
    checked = spaces.verify(pipeline, cpu, CPU)
    yield "pipeline", pipeline
    yield "schedule", cpu
    yield "default schedule", spaces.Schedule.default(pipeline)
    yield "verdict", checked
    on_gpu = spaces.verify(pipeline, gpu, GPU)
    yield "gpu verdict", on_gpu
    yield "illegal", spaces.verify(pipeline, gpu, CPU)
    yield "nest", checked.nest
    yield "tree", spaces.schedule_tree(pipeline, cpu)
    yield "form", spaces.canonical_form(pipeline, cpu)
    yield "price", spaces.price(checked)
    rows = spaces.parse_schedule(
        "\n".join(f"{func.name}.compute_root()" for func in pipeline.functions), pipeline
    )
    yield "price difference", spaces.explain(checked, spaces.verify(pipeline, rows, CPU))
    batch = spaces.Batch.of(checked.pipeline, checked.schedule)
    yield "batch", batch
    yield "features", batch.features
    space = spaces.ScheduleSpace(pipeline, CPU)
    yield "space", space
    yield "partial", space.start()
    yield "found", spaces.Found(12.5, cpu)
    yield "done", spaces.Done((spaces.Found(12.5, cpu),) * 5, 7, 8, complete=True)
    yield "improved", spaces.Improved(spaces.Found(12.5, cpu))
    yield "gpu pipeline", spaces.compile_gpu(on_gpu)
    small = spaces.APPS["harris"]
    made = small.pipeline()
    text = small.schedules["cpu"].read_text()
    short = spaces.verify(made, spaces.parse_schedule(text, made, 256), CPU)
    with quick_code():
        compiled = spaces.compile_cpu(short)
    yield "compiled", compiled
    report = spaces.prove(short)
    yield "report", report
    yield "proof", report.proofs[0]
    yield "obligation", report.proofs[0].obligation
    proposal = spaces.Proposal(cpu, "search", 12.5)
    measured = spaces.Measurement(
        cpu, spaces.RunOutcome.CORRECT, seconds=(0.1,) * 99, reference_seconds=(0.2,) * 99
    )
    yield "proposal", proposal
    yield "measurement", measured
    yield "trial", spaces.Trial(3, proposal, measured)


CARDS = {
    *("pipeline", "schedule", "verdict", "illegal", "nest", "tree", "price", "price difference"),
    *("space", "partial", "found", "done", "gpu pipeline", "compiled", "report", "proof"),
}
"""What shows a card in a notebook; what tuning makes is shown where it is tested."""


def test_what_prints_is_short():
    shown = set()
    for name, one in objects():
        text, outline = str(one), repr(one)
        assert len(text.splitlines()) <= MOST_LINES, (name, text)
        assert "\n" not in outline, (name, outline)
        assert len(outline) <= MOST_CHARACTERS, (name, outline)
        if hasattr(one, "_repr_html_"):
            read = Read(one._repr_html_())
            assert len(one._repr_html_()) <= MOST_IN_A_CARD, name
            assert not read.outside()
            assert "spaces-card" in read.all("div")[0]["class"]
            shown.add(name)
            lines = on_terminal(one, 40)
            assert lines[0].split()[0] in ("".join(read.words)), name
            assert max(map(len, lines)) <= 40, name
    assert shown >= CARDS


def test_a_schedule_prints_its_directives_and_loops():
    pipeline = spaces.APPS["blur"].pipeline()
    text = "blur_y.split(y, y, yi, 32).parallel(y); blur_x.compute_at(blur_y, yi).reorder(y, x);"
    schedule = spaces.parse_schedule(text, pipeline)
    assert str(schedule).splitlines() == [
        "blur_y.compute_root().split(y, y, yi, 32).parallel(y)  // y, yi, x",
        "blur_x.compute_at(blur_y, yi)  // x, y",
    ]
    assert repr(schedule) == "<Schedule of blur_x, blur_y>"
    assert str(spaces.Schedule.default(pipeline)).splitlines()[1] == "// inlined: blur_x"


@pytest.mark.parametrize("app", ["blur", "harris", "sgemm", "unsharp", "conv_layer"])
@pytest.mark.parametrize("name", ["cpu", "gpu"])
def test_a_printed_schedule_reads_as_the_same_directives(app, name):
    """Loops stand in a comment where directives leave them as they are in the default order."""
    found = spaces.APPS[app]
    pipeline = found.pipeline()
    schedule = spaces.parse_schedule(found.schedules[name].read_text(), pipeline, 256)
    if schedule.derivations:
        return
    again = spaces.parse_schedule(str(schedule), pipeline)
    assert [[one.splits for one in entry.stages] for entry in again.funcs] == [
        [one.splits for one in entry.stages] for entry in schedule.funcs
    ]
    assert [(e.compute, e.store, e.memory) for e in again.funcs] == [
        (e.compute, e.store, e.memory) for e in schedule.funcs
    ]


def test_a_search_result_says_what_it_is():
    schedule = spaces.Schedule.default(spaces.APPS["blur"].pipeline())
    found = (spaces.Found(12.5, schedule),)
    assert "1 schedule of 1 structure scored in 0.0 s (finished); the best:\ncost 12.5" in str(
        spaces.Done(found, 1, 8, complete=True)
    )
    assert "2 structures scored in 0.0 s (cut);" in str(spaces.Done(found, 2, 8, complete=False))


def test_outlines_keep_their_records_whole():
    found = spaces.Found(12.5, spaces.Schedule.default(spaces.APPS["blur"].pipeline()))
    assert pickle.loads(pickle.dumps(found)) == found


def test_cards_say_the_verdict_and_why():
    pipeline, gpu = by_hand("gpu")
    legal, illegal = (spaces.verify(pipeline, gpu, device) for device in (GPU, CPU))
    assert "legal; its results are exact" in Read(legal._repr_html_()).text
    text = Read(illegal._repr_html_()).text
    assert f"illegal: {len(illegal.violations)} violations" in text
    assert illegal.violations[0].message in text


def test_cards_escape_what_users_name():
    pipeline = attrs.evolve(spaces.APPS["blur"].pipeline(), name="<script>alert(1)</script>")
    read = Read(pipeline._repr_html_())
    assert not read.all("script")
    assert "<script>alert(1)</script>" in read.text


def test_a_device_shows_its_limits():
    read = Read(GPU._repr_html_())
    assert "Device sm_80 A100" in read.text
    assert "max threads per block1,024" in read.text


def on_terminal(one, width):
    """What rich prints, line by line."""
    file = io.StringIO()
    Console(file=file, width=width).print(one)
    return [line.rstrip() for line in file.getvalue().splitlines()]


def test_a_loop_nest_shows_the_sizes_of_its_loops_and_storage():
    """4,800 rows are 150 times 32; three rows of 6,400 values of two bytes are 37.5 KiB."""
    app = spaces.APPS["blur"]
    pipeline = app.pipeline()
    schedule = spaces.parse_schedule(app.schedules["cpu"].read_text(), pipeline, 512)
    assert on_terminal(spaces.loop_nest(pipeline, schedule), 80) == [
        "Loop nest of blur  at the estimates",
        "produce blur_y  6,400 × 4,800",
        "└─ parallel blur_y.y  150×",
        "   ├─ store blur_x  uint16[6,400, 3 folded]  37.5 KiB",
        "   └─ for blur_y.yi  32×",
        "      ├─ produce blur_x  6,400 × ≤ 3",
        "      │  └─ for blur_x.y  ≤ 3×",
        "      │     └─ for blur_x.x  200×",
        "      │        └─ vectorized blur_x.x_v  32×",
        "      │           └─ compute blur_x",
        "      └─ for blur_y.x  200×",
        "         └─ vectorized blur_y.x_v  32×",
        "            └─ compute blur_y",
    ]


def test_the_text_of_a_nest_is_a_tree_with_the_same_words():
    text = "produce f[0 .. 9]:\n  parallel f.x in 0 .. 9:\n    f(f.s0.x) = ..."
    assert nest_tree(text).rows == (
        TreeRow(0, (Styled("strong", "produce"), " f[0 .. 9]:")),
        TreeRow(1, (Styled("parallel", "parallel"), " f.x in 0 .. 9:")),
        TreeRow(2, ("f(f.s0.x) = ...",)),
    )


def test_violations_stand_below_the_line_that_breaks_the_rule():
    pipeline = spaces.APPS["blur"].pipeline()
    schedule = spaces.parse_schedule("blur_y.split(y, y, yi, 0); blur_x.compute_root();", pipeline)
    verdict = spaces.verify(pipeline, schedule, CPU)
    [violation] = verdict.violations
    shown = on_terminal(verdict, 200)
    assert shown == [
        "Schedule of blur  for cpu",
        "illegal: 1 violation",
        "  blur_y.compute_root().split(y, y, yi, 0)  // y, yi, x",
        f"    • {violation}",
    ]
    stranger = spaces.Illegal((attrs.evolve(violation, func="nobody"),), verdict.judged)
    assert on_terminal(stranger, 200)[2] == f"• {violation}"


@pytest.mark.parametrize(
    ("line", "loops", "red"),
    [
        ("f.compute_at(g, x).gpu_threads(x)  // y, x", {"x"}, ["x", "x"]),
        ("f.compute_at(g, w).vectorize(x)", {"w"}, ["w"]),
        ("f.split(x, xo, xi, 4)", {"xi"}, ["xi"]),
    ],
)
def test_the_loop_of_another_func_is_not_marked(line, loops, red):
    phrase = marked_line(line, loops)
    assert phrase_text(phrase) == line
    assert [one.text for one in phrase if isinstance(one, Styled)] == red


def test_every_kind_of_loop_has_a_style():
    assert set(KIND_STYLES) == set(LoopKind)
    assert set(STYLES) == set(get_args(Style))
