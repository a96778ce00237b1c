"""A bundle is made, checked and timed over the stub driver, which runs kernels on the CPU."""

import ast
import importlib
import importlib.util
import json
import shutil
import subprocess
import sys

import pytest
from attrs import evolve

from bench.contenders import pipeline_of
from bench.gpu import bundle, packing
from bench.gpu.making import Making
from bench.gpu.runner.folder import FULL, SMALL
from bench.processes import ContenderFailed
from spaces.backend.llvm.operators import FloatMode
from spaces.backend.measuring.agreement import EXACT
from tests.backend.cuda.stub.built import stub_built
from tests.backend.cuda.stub.driver import with_driver

SIZES = {
    "blur": {SMALL: (70, 30), FULL: (200, 120)},
    "max_filter": {SMALL: (24, 14), FULL: (70, 24)},
    "random_1": {SMALL: (128, 64), FULL: (256, 128)},
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
from spaces.backend.cuda.drivers.driver import DriverError
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
    peer = importlib.import_module("spaces.backend.halide.bridge").build(pipeline_of("blur"))
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
def whole(tmp_path_factory, stub_driver):
    """Two apps: one kernel, and several with tables that the CPU computes before them; and a random
    pipeline.
    """
    pytest.importorskip("cuda.bindings")
    folder = tmp_path_factory.mktemp("bundle")
    patched = pytest.MonkeyPatch()
    patched.setattr(bundle._Maker, "made", in_this_process)
    patched.setattr(bundle, "SCHEDULES", 1)
    making = Making(folder, build=planted, sizes=SIZES, schedules=folder, halide=())
    (folder / "bundle.json").write_text("{}")  # of an earlier bundle
    (folder / "apps").mkdir()
    (folder / "apps" / "hist.json").touch()
    (folder / "blur.sched").write_text("blur_y.gpu_tile(x, y, xi, yi, 16, 4);\n")
    (folder / "max_filter.sched").write_text("output.compute_root().vectorize(x, 8);\n")
    made = bundle.make(making, list(SIZES))
    patched.undo()
    assert made == list(SIZES)
    assert {file.stem for file in (folder / "apps").iterdir()} == SIZES.keys()
    if importlib.util.find_spec("halide") and shutil.which("gcc"):
        add_halide(folder)
    return Bundle(folder, stub_driver)


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
        assert found["check"]["random_1"]["drawn 0"][FULL] == {"right": True, "same_bits": True}
        assert "by hand, strict: WRONG" in printed
        assert "launches no kernel" in found["absent"]["max_filter"]["found, strict"]

    def test_times_are_those_of_what_is_right(self, whole):
        found, status, _ = whole.run("time", "--turns", "3", "--apps", "blur", "random_1")
        assert status == 0
        assert "random_1" not in found["times"]
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
        sentence = "There is no GPU that can run kernels: the CUDA driver finds no device."
        assert f"error: {sentence}" in printed
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
    allowed = {"numpy", "cuda", "torch", "spaces", "bench"}
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
            if modules and modules[0].startswith(("spaces", "bench")):
                paths = {f"{one.replace('.', '/')}{end}" for one in modules
                         for end in (".py", "/__init__.py")}  # fmt: skip
                assert paths & files.keys(), (name, modules)
