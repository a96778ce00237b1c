"""What a bundle holds: inputs from seeds, references, steps of the host, kernels."""

import zlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.gpu.kernels import MOST_READ, recorded
from bench.gpu.runner.checks import sampled, verdict
from bench.gpu.runner.folder import write_arrays
from bench.gpu.runner.inputs import digest, made
from bench.gpu.runner.modules import NotLoaded, load
from spaces.backend.cuda.drivers.driver import DriverError
from spaces.backend.cuda.kernel import AllocStep, BufferParam, CudaKernel, FreeStep, HostStep
from spaces.backend.cuda.plan import PlannedLaunch
from spaces.backend.measuring.agreement import EXACT, Tolerance
from tests.draw_counts import examples


@settings(max_examples=examples(30), deadline=None)
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


SCALE = 'extern "C" __global__ void scale(float* x) { x[threadIdx.x] *= 2.0f; }'


class OneCard:
    """Loads what begins as it likes."""

    def __init__(self, arch, likes):
        self.arch = arch
        self.likes = likes

    def load(self, content):
        if not content.startswith(self.likes):
            raise DriverError("no kernel image")
        return content


@pytest.fixture
def module(tmp_path):
    (tmp_path / "k.cubin").write_bytes(b"machine code")
    (tmp_path / "k.ptx.z").write_bytes(zlib.compress(b".version 9"))
    (tmp_path / "k.cu.z").write_bytes(zlib.compress(SCALE.encode()))
    names = {"cubin": "k.cubin", "ptx": "k.ptx.z", "text": "k.cu.z"}
    return tmp_path, {"arch": "sm_90", "options": ["--fmad=false", "--std=c++17"], **names}


def test_machine_code_serves_its_own_architecture(module):
    assert load(OneCard("sm_90", b""), *module) == (b"machine code", "cubin")


def test_other_cards_compile_the_text(module):
    pytest.importorskip("cuda.bindings")
    pytest.importorskip("nvidia")
    code, form = load(OneCard("sm_86", b"\x7fELF"), *module)
    assert form == "text"
    assert b"scale" in code
    assert load(OneCard("sm_90", b"\x7fELF"), *module)[1] == "text"  # an older driver


def test_a_card_that_loads_nothing_says_why(module):
    assert load(OneCard("sm_86", b".version"), *module) == (b".version 9\0", "ptx")
    with pytest.raises(NotLoaded, match=r"cubin: no kernel image; text: .*; ptx: no kernel image"):
        load(OneCard("sm_90", b"nothing"), *module)
