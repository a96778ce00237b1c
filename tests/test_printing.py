"""What people print is short, whatever the size of what it shows."""

import pickle

import pytest

import spaces

CPU, GPU = spaces.device("cpu"), spaces.device("sm_80")
APP = spaces.APPS["local_laplacian"]

MOST_LINES = 30
MOST_CHARACTERS = 500


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
    yield "gpu verdict", spaces.verify(pipeline, gpu, GPU)
    yield "illegal", spaces.verify(pipeline, gpu, CPU)
    yield "nest", checked.nest
    yield "tree", spaces.schedule_tree(pipeline, cpu)
    yield "form", spaces.canonical_form(pipeline, cpu)
    yield "price", spaces.price(checked)
    rows = spaces.parse_schedule(
        "\n".join(f"{func.name}.compute_root()" for func in pipeline.functions), pipeline
    )
    yield "price difference", spaces.explain(checked, spaces.verify(pipeline, rows, CPU))
    yield "batch", spaces.Batch.of(checked.pipeline, checked.schedule)
    yield "features", spaces.Batch.of(checked.pipeline, checked.schedule).features
    space = spaces.ScheduleSpace(pipeline, CPU)
    yield "space", space
    yield "partial", space.start()
    yield "found", spaces.Found(12.5, cpu)
    yield "done", spaces.Done((spaces.Found(12.5, cpu),) * 5, 7, 8, complete=True)
    yield "improved", spaces.Improved(spaces.Found(12.5, cpu))
    yield "gpu pipeline", spaces.compile_gpu(spaces.verify(pipeline, gpu, GPU))
    small = spaces.APPS["harris"]
    made = small.pipeline()
    text = small.schedules["cpu"].read_text()
    short = spaces.verify(made, spaces.parse_schedule(text, made, 256), CPU)
    yield "compiled", spaces.compile_cpu(short)
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


def test_what_prints_is_short():
    for name, one in objects():
        shown, outline = str(one), repr(one)
        assert len(shown.splitlines()) <= MOST_LINES, (name, shown)
        assert "\n" not in outline, (name, outline)
        assert len(outline) <= MOST_CHARACTERS, (name, outline)


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
