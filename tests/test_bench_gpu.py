"""A bundle is made, checked and timed over the stub driver, which runs kernels on the CPU."""

import ast
import importlib
import importlib.util
import json
import shutil
import subprocess
import sys

import numpy as np
import pytest
from attrs import evolve
from hypothesis import given, settings
from hypothesis import strategies as st

from backend.cuda.kernel import AllocStep, BufferParam, CudaKernel, FreeStep, HostStep
from backend.cuda.plan import PlannedLaunch
from backend.llvm.operators import FloatMode
from backend.measuring.agreement import EXACT, Tolerance
from bench.contenders import pipeline_of
from bench.gpu import bundle, packing
from bench.gpu.kernels import MOST_READ, recorded
from bench.gpu.making import Making
from bench.gpu.runner.checks import sampled, verdict
from bench.gpu.runner.folder import FULL, SMALL, write_arrays
from bench.gpu.runner.inputs import digest, made
from bench.gpu.runner.processes import Died
from bench.gpu.runner.run import Run, is_bad, is_good
from bench.gpu.table import conditions, means, table
from bench.processes import ContenderFailed
from tests.backend.cuda.stub.driver import build_driver, with_driver
from tests.backend.cuda.stub.modules import stub_built

SIZES = {
    "blur": {SMALL: (70, 30), FULL: (400, 230)},
    "max_filter": {SMALL: (24, 14), FULL: (70, 24)},
}
HALIDE = "Halide, default"

over_the_stub = [
    pytest.mark.skipif(sys.platform != "linux", reason="the stub driver is a library of Linux"),
    pytest.mark.skipif(shutil.which("g++") is None, reason="the stub driver needs g++"),
]


def planted(module, arch):
    """Kernels of the bundle; those with strict floats divide by 4 where blur divides by 3."""
    if module.float_mode is FloatMode.STRICT:
        module = evolve(module, source=module.source.replace(") / 3;", ") / 4;"))
    return stub_built(module, arch)


COPYING = """
from backend.cuda.drivers.driver import DriverError
from bench.gpu.runner.card import Card
card = Card()
with card.opened():
    a, b = card.allocate(100), card.allocate(100)
    try:
        card.graph(lambda: card.copy(a, b, 100))
    except DriverError as error:
        print(error)
"""


def in_this_process(self, task, *given):
    try:
        return bundle._in_words(task, *given)
    except ValueError as error:
        raise ContenderFailed(str(error)) from error


def add_halide(folder):
    """Code for this CPU: no PTX of Halide runs over the stub driver."""
    objects = importlib.import_module("bench.gpu.halide_objects")
    objects.write_runtime(folder)
    peer = importlib.import_module("backend.halide.bridge").build(pipeline_of("blur"))
    record = objects.library_record(peer, "halide_blur", folder, "host")
    file = folder / "apps" / "blur.json"
    subject = json.loads(file.read_text())
    subject["contenders"][HALIDE] = {**record, "allowed": EXACT}
    file.write_text(json.dumps(subject))


class Bundle:
    """A bundle, and what its runner says over the stub driver."""

    def __init__(self, folder, driver):
        self.folder = folder
        self.driver = driver

    def run(self, *arguments, **settings):
        """The result, with the exit status and what the runner printed."""
        done = subprocess.run(
            [sys.executable, self.folder / "run.pyz", *arguments],
            cwd=self.driver,  # no file of the library is near
            env={**with_driver(self.driver, **settings), "PYTHONPATH": ""},
            capture_output=True,
            text=True,
            timeout=120,
        )
        file = self.folder / "results.json"
        found = json.loads(file.read_text()) if file.exists() else {}
        return found, done.returncode, done.stdout + done.stderr


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """Two apps: one kernel, and several with tables that the CPU computes before them."""
    pytest.importorskip("cuda.bindings")
    driver = tmp_path_factory.mktemp("driver")
    build_driver(driver)
    folder = tmp_path_factory.mktemp("bundle")
    patched = pytest.MonkeyPatch()
    patched.setattr(bundle._Maker, "made", in_this_process)
    making = Making(folder, build=planted, sizes=SIZES, schedules=folder, halide=())
    (folder / "blur.sched").write_text("blur_y.gpu_tile(x, y, xi, yi, 16, 4);\n")
    (folder / "max_filter.sched").write_text("output.compute_root().vectorize(x, 8);\n")
    made = bundle.make(making, list(SIZES))
    patched.undo()
    assert made == list(SIZES)
    if importlib.util.find_spec("halide") and shutil.which("gcc"):
        add_halide(folder)
    return Bundle(folder, driver)


@pytest.mark.usefixtures("whole")
class TestRehearsal:
    """All of a run, in order."""

    pytestmark = over_the_stub

    def test_a_check_tells_the_wrong_kernel_from_the_right_ones(self, whole):
        found, status, printed = whole.run("check")
        assert status == 1
        blur, max_filter = found["check"]["blur"], found["check"]["max_filter"]
        for size in (SMALL, FULL):
            assert not blur["by hand, strict"][size]["right"]
            assert "values of blur_y differ" in blur["by hand, strict"][size]["why"]
            assert not blur["found, strict"][size]["right"]
            for name in ("by hand, fast", "found, fast"):
                assert blur[name][size] == {"right": True, "same_bits": True}
        assert "at least 32 wide" in max_filter["by hand, strict"][SMALL]["refused"]
        assert max_filter["by hand, strict"][FULL] == {"right": True, "same_bits": True}
        assert blur["by hand, fast"]["loaded"] == "cubin"
        assert "by hand, strict: WRONG" in printed
        assert "launches no kernel" in found["absent"]["max_filter"]["found, strict"]

    def test_times_are_those_of_what_is_right(self, whole):
        found, status, _ = whole.run("time", "--turns", "3", "--apps", "blur")
        assert status == 0
        timed = found["times"]["blur"]
        for name in ("by hand, fast", "found, fast"):
            one = timed[name]
            for way in ("launched", "graph"):
                for state in ("cold", "warm"):
                    assert 0 < one[way][state]["fastest_ms"] <= one[way][state]["ms"]
                    assert one[way][state]["turns"] == 3
            assert [one["kernel"] for one in one["kernels"]] == ["blur_y_kernel"]
        assert "by hand, strict" not in timed
        if HALIDE in timed:
            assert timed[HALIDE]["launched"]["cold"]["turns"] == 3
            assert "the graph is not the run" in timed[HALIDE]["no_graph"]
        assert found["ceilings"]["copy"]["gb_per_s"] > 0
        assert found["card"]["card"] == "Stub"
        assert "by hand, fast" in found["check"]["blur"]  # what was checked stays

    def test_a_process_that_dies_costs_one_contender(self, whole):
        found, status, _ = whole.run("check", "--apps", "max_filter", STUB_DIES="output_kernel")
        assert status == 1
        for name in ("by hand, strict", "by hand, fast"):  # each is tried in a process of its own
            assert "signal 6" in found["check"]["max_filter"][name][FULL]["failed"]
        assert found["check"]["blur"]["by hand, fast"][FULL]["right"]  # stays

    def test_a_launch_that_fails_is_told(self, whole):
        found, _, _ = whole.run("check", "--apps", "max_filter", STUB_FAILS="output_kernel")
        failed = found["check"]["max_filter"]["by hand, strict"][FULL]["failed"]
        assert "unspecified launch failure" in failed

    def test_without_a_card_nothing_is_written(self, whole):
        before = (whole.folder / "results.json").read_bytes()
        _, status, printed = whole.run("check", STUB_DEVICES="0")
        assert status == 2
        assert "the CUDA driver finds no device" in printed
        assert (whole.folder / "results.json").read_bytes() == before

    def test_a_graph_holds_no_copies(self, whole):
        """They may read memory of the host that is another one when the graph runs."""
        done = subprocess.run(
            [sys.executable, "-c", COPYING],
            env=with_driver(whole.driver),
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert done.stdout == "a run has a step of the kind memcpy\n", done.stderr

    def test_no_time_is_no_result(self, whole):
        _, status, printed = whole.run("check", "--minutes", "0.04")
        assert status == 2
        assert "there was no time left" in printed


def test_the_runner_needs_numpy_and_a_binding_alone():
    files = packing.packed()
    allowed = {"numpy", "cuda", "torch", "backend", "bench"}
    for name, content in files.items():
        for node in ast.walk(ast.parse(content)):
            modules = []
            if isinstance(node, ast.ImportFrom):
                modules = [node.module, *(f"{node.module}.{one.name}" for one in node.names)]
            elif isinstance(node, ast.Import):
                modules = [one.name for one in node.names]
            for module in modules:
                top = module.partition(".")[0]
                assert top in allowed or top in sys.stdlib_module_names, (name, module)
            if modules and modules[0].startswith(("backend", "bench")):
                paths = {f"{one.replace('.', '/')}{end}" for one in modules
                         for end in (".py", "/__init__.py")}  # fmt: skip
                assert paths & files.keys(), (name, modules)


RIGHT, FAULT = {"right": True, "same_bits": True}, {"failed": "unspecified launch failure"}


def began(name):
    return {"began": name}


def told(name, found):
    return {"contender": name, "found": found}


@pytest.mark.parametrize(
    ("what", "scripts", "wanted"),
    [
        (  # a fault breaks the card for its process, which ends; another one goes on
            "check",
            [
                ("abc", [began("a"), told("a", RIGHT), began("b"), told("b", FAULT)]),
                ("c", [began("c"), told("c", RIGHT)]),
            ],
            {"a": RIGHT, "b": FAULT, "c": RIGHT},
        ),
        (  # it dies at b
            "check",
            [
                ("abc", [began("a"), told("a", RIGHT), began("b"), Died("signal 11")]),
                ("c", [began("c"), told("c", RIGHT)]),
            ],
            {"a": RIGHT, "b": {"failed": "signal 11"}, "c": RIGHT},
        ),
        (  # it dies before it begins
            "check",
            [("abc", [Died("no memory")])],
            {name: {"failed": "no memory"} for name in "abc"},
        ),
        (  # it dies in a turn of c: the others are timed again
            "time",
            [
                ("abc", [*(told(name, RIGHT) for name in "abc"), began("c"), Died("silent")]),
                ("ab", [*(told(name, RIGHT) for name in "ab"), {"contender": "a", "times": {}},
                        {"contender": "b", "times": {}}]),
            ],
            {"a": RIGHT, "b": RIGHT, "c": {"failed": "silent"}},
        ),
        (  # it dies when all is said
            "time",
            [("a", [told("a", RIGHT), {"contender": "a", "times": {}}, Died("exit")])],
            {"a": RIGHT},
        ),
        (  # it says nothing at all
            "check",
            [("ab", [told("a", RIGHT)]), ("b", [])],
            {"a": RIGHT, "b": {"failed": "its process said nothing of it"}},
        ),
    ],
)  # fmt: skip
def test_another_process_goes_on_where_one_ends(what, scripts, wanted, monkeypatch):
    rest = iter(scripts)

    def lines(self, task):
        names, script = next(rest)
        assert task["contenders"] == list(names)
        for said in script:
            if isinstance(said, Died):
                raise said
            yield said

    monkeypatch.setattr(Run, "_lines", lines)
    run = Run.__new__(Run)
    run.end = float("inf")
    said = list(run._said({"what": what}, scripts[0][0]))
    assert {one["contender"]: one["found"] for one in said if "found" in one} == wanted
    assert next(rest, None) is None


def test_what_there_was_no_time_for_is_neither_right_nor_wrong(monkeypatch):
    run = Run.__new__(Run)
    run.end = 0.0
    found = [one["found"] for one in run._said({"what": "check"}, "ab")]
    assert found == [{"not_reached": "there was no time left"}] * 2
    assert not any(is_good(one) or is_bad(one) for one in found)


@settings(max_examples=30, deadline=None)
@given(
    dtype=st.sampled_from(["uint8", "uint16", "int16", "float32", "bool"]),
    shape=st.lists(st.integers(1, 40), min_size=2, max_size=4),
    smooth=st.booleans(),
    seed=st.integers(0, 5),
)
def test_inputs_are_the_same_each_time_and_within_their_range(dtype, shape, smooth, seed):
    recipe = {"dtype": dtype, "shape": shape, "seed": seed, "smooth": smooth, "low": 3.0,
              "high": 90.0}  # fmt: skip
    array = made(recipe)
    assert (str(array.dtype), list(array.shape)) == (dtype, shape)
    assert digest(array) == digest(made(recipe))
    if dtype != "bool":
        assert array.min() >= 3
        assert array.max() <= 90
    if array.size > 100:
        assert digest(array) != digest(made({**recipe, "seed": seed + 1}))


def test_inputs_have_known_bits():
    """Those of PCG64 by its authors: seeds and shapes mean the same on every machine."""
    recipe = {"dtype": "float32", "shape": [2], "seed": 7, "smooth": False, "low": 0.0, "high": 1.0}
    words = np.random.PCG64(7).random_raw(2)
    assert made(recipe).tolist() == [float(word >> np.uint64(40)) / 2**24 for word in words]


def test_neighbors_of_smooth_inputs_are_close():
    recipe = {"dtype": "float32", "shape": [200, 300], "seed": 1, "low": 0.0, "high": 1.0}
    steps = {
        smooth: np.abs(np.diff(made({**recipe, "smooth": smooth}))).mean()
        for smooth in (False, True)
    }
    assert 3 * steps[True] < steps[False]


def test_a_reference_is_a_whole_array_or_a_sample(tmp_path):
    array = np.arange(1000, dtype=np.float32).reshape(10, 100)
    places = sampled(array.shape, 400, 3)
    write_arrays(tmp_path / "whole.npz", {"f": array})
    write_arrays(tmp_path / "part.npz", {"f": array.reshape(-1)[places]})
    whole = {"sha256": digest(array), "file": "whole.npz"}
    part = {"sha256": digest(array), "file": "part.npz", "seed": 3}
    near, other = array + np.float32(0.01), array.copy()
    other[places[0] // 100, places[0] % 100] += 300
    for record in (whole, part):

        def judged(found, allowed=EXACT, record=record):
            return verdict(tmp_path, {"f": record}, {"f": found}, allowed)

        assert judged(array) == {"right": True, "same_bits": True}
        assert judged(near) == {"right": True, "same_bits": False}
        assert not judged(other)["right"]
        assert judged(other, Tolerance(any=0.01))["right"]
        assert "is float64" in judged(array.astype(np.float64))["why"]
        assert not judged(np.full_like(array, np.nan))["right"]


KERNEL = CudaKernel(
    "k", (BufferParam("a", "int", False), BufferParam("b", "int", True)), (32, 1, 1)
)


def launch(a, b):
    return PlannedLaunch(KERNEL, (2, 1, 1), ((a, KERNEL.params[0]), (b, KERNEL.params[1])),
                         (None, None))  # fmt: skip


def doubling(source, target):
    def run(arrays):
        arrays[target][...] = 2 * arrays[source]

    return HostStep("doubling", run, (source,), (target,))


def test_tables_of_the_cpu_are_computed_beforehand():
    buffers = {name: np.full(3, 7, np.int32) for name in ("image", "table", "more", "out")}
    steps = [doubling("image", "more"), AllocStep("t", "int", 9), launch("more", "t"),
             launch("t", "out"), FreeStep("t")]  # fmt: skip
    found = recorded(steps, buffers, {"image": buffers["image"]})
    assert [next(iter(step.values())) for step in found.steps] == ["t", "k", "k", "t"]
    assert found.steps[0]["bytes"] == 36
    assert found.beforehand == ["doubling"]
    assert found.steps[1] == {"launch": "k", "grid": [2, 1, 1], "block": [32, 1, 1], "shared": 0,
                        "arguments": ["more", "t"]}  # fmt: skip
    assert {name: array.tolist() for name, array in found.tables.items()} == {"more": [14, 14, 14]}


@pytest.mark.parametrize(
    "steps",
    [
        [doubling("large", "more"), launch("more", "out")],
        [launch("image", "table"), doubling("table", "more"), launch("more", "out")],
        [launch("table", "out"), doubling("more", "table"), launch("table", "out")],
    ],
)
def test_work_of_the_cpu_between_kernels_is_refused(steps):
    buffers = {name: np.zeros(3, np.int32) for name in ("image", "table", "more", "out")}
    large = np.zeros(MOST_READ, np.int32)
    buffers["large"] = large
    with pytest.raises(ValueError, match="doubling is left on the CPU"):
        recorded(steps, buffers, {"image": buffers["image"], "large": large})


def timed(ms):
    return {"right": True, "graph": {"cold": {"ms": ms}}, "launched": {"cold": {"ms": 9 * ms}}}


RESULTS = {
    "card": {"card": "A Card", "arch": "sm_90", "driver_of_cuda": 13000},
    "machine": {"python": "3.12.3"},
    "bundle": {"commit": "abc"},
    "ceilings": {"copy": {"gb_per_s": 3000.0}, "matmul": {"failed": "no library"}},
    "check": {"b": {"Halide, by hand": {"small": {"right": False, "why": "all"}}}},
    "times": {
        "a": {"by hand, strict": timed(3.0), "found, fast": timed(2.0),
              "Halide, by hand": timed(4.0), "library": timed(1.0)},
        "b": {"by hand, strict": timed(1.0), "by hand, fast": {"failed": "signal 6"}},
    },
}  # fmt: skip


def test_the_table_divides_by_the_fastest_of_ours():
    heads, rows = table(RESULTS)
    shown = dict(zip(heads, rows[0], strict=True))
    assert shown["found, fast"] == 2.0
    assert shown["Halide, by hand / ours"] == "2.00"
    assert shown["library / ours"] == "0.50"
    of_b = dict(zip(heads, rows[1], strict=True))
    assert of_b["by hand, fast"] == "failed"
    assert of_b["Halide, by hand / ours"] == "wrong"
    assert means(RESULTS) == {"Halide, by hand": (2.0, 1), "library": (0.5, 1)}
    assert "A Card (sm_90)" in conditions(RESULTS)
    assert "products of matrices: not measured" in conditions(RESULTS)
    ours = {**RESULTS, "times": {"sgemm": {"by hand, fast": timed(2.0)}}}
    assert "3.62 TFLOP/s (ours of 1536 x 1536)" in conditions(ours)  # 2 * 1536**3 in 2 ms
