"""Pages about schedules: they stand alone, say what verify and the features say, and stay small."""

import html
import json
import re

import attrs
import pytest

import spaces
from spaces.backend.cuda.errors import CudaUnavailable
from spaces.backend.cuda.nvrtc import KernelResources
from spaces.backend.profiling.profile import FuncTime, Profile
from spaces.pages import counted_kernels
from spaces.pages.schedule_page import MOST_BYTES, ShownSchedule, schedule_page
from tests.cpus import FOUR_CORES
from tests.pages_html import Read, assert_stands_alone

CPU, GPU = FOUR_CORES, spaces.device("sm_80")

BLUR = spaces.APPS["blur"]


def judged(device, text, pipeline=None):
    made = BLUR.pipeline() if pipeline is None else pipeline
    return spaces.verify(made, spaces.parse_schedule(text, made, 256), device)


CPU_TEXT = (
    "blur_y.split(y, y, yi, 32).parallel(y).vectorize(x, 16); "
    "blur_x.store_at(blur_y, y).compute_at(blur_y, yi).vectorize(x, 16);"
)


@pytest.fixture(scope="module")
def report():
    return spaces.report(judged(CPU, CPU_TEXT), names=("mine", ""))


@pytest.fixture(scope="module")
def read(report):
    return Read(report.html)


def test_a_page_needs_nothing_from_elsewhere(report):
    assert_stands_alone(report.html)


def test_every_part_is_there(read):
    parts = [section["id"] for section in read.all("section")]
    expected = ["costs", "graph", "nest", "run", "rules", "funcs", "schedule", "code"]
    assert parts == expected
    ids = [attributes["id"] for _, attributes in read.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    targets = {a["href"] for a in read.all("a")}
    assert targets <= {f"#{one}" for one in ids}


def test_numbers_follow_from_the_schedule(report, read):
    """32 rows a task, and 2 rows of blur_x more: its window slides over 34 rows, 3 of them kept."""
    ranges = {e.buffer: e.ranges for e in BLUR.pipeline().estimates}
    width, height = (extent for _, extent in ranges["blur_y"])
    side = report.sides[0]
    blur_x = side.facts.by_name["blur_x"]
    tasks = height // 32
    assert blur_x.points == tasks * 34 * width
    assert blur_x.window
    assert blur_x.storage.allocations == tasks
    assert blur_x.storage.extents == (width, 3)
    assert blur_x.storage.bytes == width * 3 * 2
    assert blur_x.storage.folded == ("y",)
    assert side.facts.trips["blur_y", 0, "y"] == tasks
    assert f"blur_y.y {tasks}×" in read.text
    assert f"uint16[{width:,}, 3 folded]" in read.text


def test_a_card_for_each_func_and_rows_that_belong_to_it(read):
    cards = {a["data-func"] for a in read.all("article")}
    assert cards == {"blur_x", "blur_y"}
    nodes = {a.get("data-func") for a in read.all("g") if "node" in a.get("class", "")}
    assert nodes == {"input", "blur_x", "blur_y"}


def test_the_small_run_is_the_run_of_the_nest(report, read):
    """A vector of 4 values at a time: 12 x 8 values of blur_y, and each group of rows of blur_x is
    computed with the two rows around it.
    """
    run = report.sides[0].run
    assert run.recording.complete
    (player,) = (a for a in read.all("div") if a.get("class") == "player")
    told = json.loads(player["data-run"])
    number = {grid["name"]: i for i, grid in enumerate(told["grids"])}
    written = {name: [] for name in number}
    for event in told["events"]:
        if isinstance(event, list):
            written[told["grids"][event[0]]["name"]] += event[1]
    assert sorted(written["blur_y"]) == list(range(12 * 8))
    tile = 4
    assert run.changed == ("blur_x.x: 16 → 4", "blur_y.y: 32 → 4", "blur_y.x: 16 → 4")
    assert len(written["blur_x"]) == (8 // tile) * (tile + 2) * 12
    assert told["grids"][number["input"]]["image"]


def test_json_has_the_same_numbers(report):
    (told,) = report.json()
    assert json.loads(json.dumps(told)) == told
    assert told["legal"]
    by_name = {func["name"]: func for func in told["funcs"]}
    assert by_name["blur_x"]["storage"]["folded"] == ["y"]


def test_an_illegal_schedule_has_its_violations_in_place():
    """33 x 33 threads: the violation stands below the directive, the repair is a difference."""
    verdict = judged(GPU, "blur_y.gpu_tile(x, y, xi, yi, 33, 33)")
    made = spaces.report(verdict)
    read = Read(made.html)
    (violation,) = verdict.violations
    assert violation.message in read.text
    assert [section["id"] for section in read.all("section")][:2] == ["violations", "repair"]
    place = made.html.index("blur_y.gpu_tile(")
    assert place < made.html.index('class="violation"')
    gone = re.findall(r'<del class="row">([^<]*)</del>', made.html)
    came = re.findall(r'<ins class="row">([^<]*)</ins>', made.html)
    assert gone == ["- blur_y.gpu_tile(x, y, xi, yi, 33, 33)"]
    assert came == [f"+ {spaces.format_schedule(made.sides[0].repair.schedule, BLUR.pipeline())}"]


def test_two_schedules_stand_side_by_side():
    other = "blur_y.vectorize(x, 16); blur_x.compute_root().vectorize(x, 16)"
    made = spaces.report(judged(CPU, CPU_TEXT), judged(CPU, other), names=("slides", "roots"))
    read = Read(made.html)
    assert read.all("section")[0]["id"] == "differences"
    assert "The first schedule is slides, the second roots." in read.text
    assert "The first computes it at blur_y.yi, the second at root." in read.text
    titles = {node["id"] for node in read.all("article")}
    assert titles == {"a0", "a1", "b0", "b1"}


def test_kernels_have_their_occupancy():
    """256 threads of 64 registers: 4 of the 8 warps each fill the registers, half of all warps."""
    made = ShownSchedule("mine", judged(GPU, "blur_y.gpu_tile(x, y, xi, yi, 32, 8)"))
    assert [one.occupancy for one in made.facts.kernels] == [0.5]
    assert "limited byblur_y120 k32 × 8 × 10 B0 B50.0 %" in Read(schedule_page([made])).text


def test_kernels_have_their_transactions():
    """A warp is a row of 32 values of 2 bytes: one transaction for each of 9 reads and 1 store."""
    made = ShownSchedule("mine", judged(GPU, "blur_y.gpu_tile(x, y, xi, yi, 32, 8)"))
    (kernel,) = made.facts.kernels
    warps = 120_000 * 256 / 32
    moved = kernel.transactions
    assert (moved.loads, moved.stores, moved.local) == (9 * warps, warps, 0)
    shared = "blur_y.gpu_tile(x, y, xi, yi, 32, 8); blur_x.compute_at(blur_y, x).gpu_threads(x, y)"
    (kernel,) = ShownSchedule("mine", judged(GPU, shared)).facts.kernels
    assert kernel.transactions.shared_loads == 3 * 120_000 * 256
    text = Read(schedule_page([made])).text
    assert "Transactions with memory, counted by the model" in text
    assert "blur_y8.64 M (1.0 GiB)960 k (117 MiB)none0" in text


def counted(monkeypatch, answer):
    """Counts the registers of kernels by ``answer`` in place of the compiler."""
    monkeypatch.setattr(counted_kernels, "resources_within", answer)


def test_registers_are_those_of_the_compiler(monkeypatch):
    """128 registers a thread: 16 of 64 warps, a quarter, fill the 65,536 registers."""
    compiled = spaces.compile_gpu(judged(GPU, "blur_y.gpu_tile(x, y, xi, yi, 32, 8)"))
    (name,) = [one.name for one in compiled.kernels]
    counted(monkeypatch, lambda *_, **__: {name: KernelResources(128, 0, 24, 24, 24)})
    known = counted_kernels.count_kernels(compiled)
    made = ShownSchedule("mine", judged(GPU, "blur_y.gpu_tile(x, y, xi, yi, 32, 8)"), counted=known)
    text = Read(schedule_page([made])).text
    assert "12824 B25.0 %registers" in text
    assert "as NVIDIA's compiler counts them" in text


def test_a_page_says_that_no_compiler_is_there(monkeypatch):
    def missing(*_, **__):
        raise CudaUnavailable("NVRTC is missing")

    counted(monkeypatch, missing)
    made = spaces.report(judged(GPU, "blur_y.gpu_tile(x, y, xi, yi, 32, 8)"))
    text = Read(made.html).text
    assert "Registers and spills are not counted: NVIDIA's compiler is not here" in text
    assert "if a thread takes 64 registers" in text


def on_both_devices(monkeypatch):
    """The text of a page about a schedule for a CPU, and one for a GPU whose kernels no compiler
    counts.
    """
    counted(monkeypatch, lambda *_, **__: {})
    gpu = "blur_y.gpu_tile(x, y, xi, yi, 32, 8); blur_x.compute_at(blur_y, x).gpu_threads(x, y)"
    return Read(spaces.report(judged(CPU, CPU_TEXT), judged(GPU, gpu)).html).text


def test_devices_of_two_kinds_are_not_priced_against_each_other(monkeypatch):
    text = on_both_devices(monkeypatch)
    assert "different units" in text
    assert "CUDA C" in text
    assert "kernel" in text


def test_other_pipelines_are_refused():
    func, x = spaces.Func("other"), spaces.Var("x")
    func[x] = x
    other = spaces.pipeline(func, estimates={func: [64]})
    with pytest.raises(ValueError, match="one pipeline, not of blur and other"):
        spaces.report(judged(CPU, CPU_TEXT), judged(CPU, "", other))
    with pytest.raises(TypeError, match="what verify returns"):
        spaces.report("blur")


def test_refuted_proofs_show_their_counterexample():
    """Without the rule, a fold of 2 rows loses a row that is still read."""
    made = BLUR.pipeline()
    text = "blur_x.store_root().compute_at(blur_y, y).fold_storage(y, 2)"
    schedule = spaces.parse_schedule(text, made)
    proofs = spaces.prove(spaces.loop_nest(made, schedule))
    assert proofs.refuted
    illegal = spaces.verify(made, schedule, CPU)
    page = schedule_page([ShownSchedule("fold", illegal, proofs=proofs)])
    read = Read(page)
    found = proofs.refuted[0].outcome.counterexample
    place = f"{found.buffer}({', '.join(map(str, found.coordinate))})"
    assert f"{place} at " in read.text
    drawn = re.search(r'<svg[^>]*class="cells".*?</svg>', page, re.DOTALL)[0]
    cells = re.findall(r'<g class="(\w+)"><rect[^>]*><title>(-?\d+), (-?\d+)<', drawn)
    x, y = found.coordinate
    at = {(int(a), int(b)): kind for kind, a, b in cells}
    assert at[x, y] == "fault"
    assert at[x, y + 2] == "shared", "two rows on is the same row of the storage"
    assert at[x, y + 1] == "inside"
    assert "same place in its folded storage" in read.text


def test_other_programs_take_back_what_times_say():
    """Where threads wait for their processors, times of Funcs say nothing about the model."""
    checked = judged(CPU, CPU_TEXT)
    times = tuple(FuncTime(name, t, 10) for name, t in (("blur_x", 1e-6), ("blur_y", 1.0)))
    quiet = Profile("blur", 2, 3, 1.0, 1.0, times)
    told = Read(spaces.report(checked, profiles=(quiet, None)).html).text
    assert "disagree by a factor of 2 or more for blur_x." in told
    busy = attrs.evolve(quiet, others=0.5)
    told = Read(spaces.report(checked, profiles=(busy, None)).html).text
    assert "Other programs took 50% of the processors" in told
    assert "disagree" not in told


def test_a_difference_is_told_once():
    """What explains the costs is not said again below them."""
    narrow = CPU_TEXT.replace("16", "8")
    told = Read(spaces.report(judged(CPU, CPU_TEXT), judged(CPU, narrow)).html).text
    for name in ("blur_x", "blur_y"):
        assert f"{name}: computing makes" in told
    assert told.count("The first has 16 vector lanes, the second 8") == 2


def test_disturbed_times_do_not_say_which_is_faster():
    checked = judged(CPU, CPU_TEXT)
    quiet = Profile("blur", 2, 3, 1.0, 1.0, (FuncTime("blur_y", 1.0, 1),))
    slow = attrs.evolve(quiet, plain_seconds=2.0)
    told = Read(spaces.report(checked, checked, profiles=(quiet, slow)).html).text
    assert "the first is 2.00 times as fast" in told
    busy = attrs.evolve(slow, others=0.5)
    told = Read(spaces.report(checked, checked, profiles=(quiet, busy)).html).text
    assert "does not say which one is faster" in told
    assert "times as fast" not in told


def test_a_page_about_kernels_says_that_none_was_run(monkeypatch):
    told = on_both_devices(monkeypatch)
    assert "No kernel was run for this page, so there are no times" in told
    assert "It was not run for this page, so there are no times" in told
    assert "blur_xin blur_y" in told, "the price of a kernel is not that of each of its Funcs"
    assert "outside all kernels" not in told
    assert "It has no GPU kernels." in told


def test_the_picture_has_as_many_steps_as_the_sentence_says():
    page = spaces.report(judged(CPU, CPU_TEXT)).html
    data = json.loads(html.unescape(re.search(r'data-run="([^"]*)"', page)[1]))
    assert f"in {len(data['events']):,} steps" in Read(page).text


HOSTILE = "</script><script>alert('1')</script>\"><img src=x onerror=alert(2)>"


def test_what_users_name_stays_text():
    named = attrs.evolve(BLUR.pipeline(), name=HOSTILE)
    plain = Read(spaces.report(judged(CPU, CPU_TEXT), names=("mine", "")).html)
    made = spaces.report(judged(CPU, CPU_TEXT, named), names=(HOSTILE, ""))
    read = Read(made.html)
    assert len(read.all("script")) == len(plain.all("script")) == 1
    assert not read.all("img")
    assert HOSTILE in read.text
    assert not read.outside()


def test_a_large_pipeline_leaves_out_what_has_no_room():
    app = spaces.APPS["local_laplacian"]
    made = app.pipeline()
    schedule = spaces.parse_schedule(app.schedules["gpu"].read_text(), made, 256)
    side = ShownSchedule("gpu", spaces.verify(made, schedule, GPU))
    page = schedule_page([side, attrs.evolve(side, name="again")])
    assert len(page.encode()) < MOST_BYTES
    assert "so that the page stays under 200 KB" in Read(page).text


def test_a_pipeline_without_estimates_runs_at_a_small_size():
    x, y = spaces.Var("x"), spaces.Var("y")
    image, brighter = spaces.ImageParam(spaces.UInt8, 2, "image"), spaces.Func("brighter")
    brighter[x, y] = image[x, y] + 1
    verdict = judged(CPU, "brighter.vectorize(x, 8)", spaces.pipeline(brighter))
    assert "run" in [section["id"] for section in Read(spaces.report(verdict).html).all("section")]
