"""The small run of an app: few pixels of a picture with gaps between its lines in memory, and
outputs that may be a part of the whole.
"""

import importlib
from functools import cached_property, partial

import numpy as np
import pytest
from attrs import define, field

from spaces.apps.catalog import APPS
from spaces.apps.command_line.options import given_schedule
from spaces.backend.compile import compile_cpu
from spaces.backend.compile_gpu import compile_gpu_unchecked
from spaces.backend.cuda.emulator import Emulator
from spaces.backend.llvm.operators import FloatMode
from spaces.backend.reference import evaluate
from spaces.constraints.devices.device import device
from spaces.constraints.legality.verify import verify
from spaces.model.writing.text import parse_schedule
from tests.apps.cases import at_size, embedded
from tests.backend.cpu_runs import run_guarded
from tests.backend.guarded import guarded
from tests.backend.llvm.guarded_scratch import compile_guarded, run_poisoned
from tests.differential.quick_code import quick_code


@define(slots=False)
class SmallRun:
    """A pipeline with inputs, the ranges of its outputs, and ``others`` that the same code computes
    next. All results are the same bits, except that ours may differ by ``ulps`` and Halide's by
    ``peer_ulps``: integers by this much, floats by this many spacings at the largest value.
    """

    app: str
    pipeline: object
    inputs: dict
    sizes: dict
    others: tuple = ()
    ulps: int = 0
    peer_ulps: int = 0
    _checked: dict = field(init=False, factory=dict)

    @cached_property
    def references(self):
        """The results for ``sizes`` and for ``others``."""
        all_sizes = (self.sizes, *self.others)
        return [evaluate(self.pipeline, self.inputs, sizes=sizes) for sizes in all_sizes]

    @property
    def reference(self):
        return self.references[0]

    def schedule(self, stem):
        """The hand-written schedule without the lines for Funcs that a smaller pipeline lacks."""
        app = APPS[self.app]
        full = at_size(self.app)
        if [f.name for f in full.functions] == [f.name for f in self.pipeline.functions]:
            return given_schedule(app, self.pipeline, stem).faultless()
        known = {f.name for f in self.pipeline.functions}
        lines = app.schedules[stem].read_text().splitlines()
        return parse_schedule(
            "\n".join(line for line in lines if line.split(".")[0] in known), self.pipeline
        )

    def assert_same(self, run, ulps=None):
        """Asserts that ``run`` gives the values of the reference, for any sizes."""
        for sizes, reference in zip((self.sizes, *self.others), self.references, strict=True):
            actual = run(self.inputs, sizes=sizes)
            assert actual.keys() == reference.keys()
            for output, expected in reference.items():
                assert actual[output].dtype == expected.dtype
                is_float = expected.dtype.kind == "f"
                step = np.spacing(np.nanmax(np.abs(expected))) if is_float else 1
                atol = step * (self.ulps if ulps is None else ulps)
                np.testing.assert_allclose(actual[output], expected, rtol=0, atol=atol)

    def checked(self, stem):
        """A hand-written schedule, verified for the CPU."""
        if stem not in self._checked:
            self._checked[stem] = self._verified(stem)
        return self._checked[stem]

    def _verified(self, stem):
        verdict = verify(self.pipeline, self.schedule(stem), device("cpu"))
        assert verdict.legal, str(verdict)
        return verdict

    def assert_same_on_cpu(self, stem):
        compiled = compile_cpu(self.checked(stem), threads=2)
        self.assert_same(compiled.run)
        strided = {image: embedded(array) for image, array in self.inputs.items()}
        self.assert_same(lambda _, sizes: compiled.run(strided, sizes=sizes))
        for at_end in (False, True):
            fenced = {n: guarded(a, at_end=at_end)[0] for n, a in self.inputs.items()}
            self.assert_same(lambda _, sizes, fenced=fenced: run_guarded(compiled, fenced, sizes))

    def assert_close_with_fast_floats(self, stem):
        compiled = compile_cpu(self.checked(stem), threads=2, float_mode=FloatMode.FAST)
        self.assert_same(compiled.run, ulps=16)

    def assert_same_under_guard(self, stem):
        """Without the optimiser, which drops accesses; `assert_same_on_cpu` runs what it makes."""
        with quick_code():
            compiled = compile_guarded(self.checked(stem), threads=2)
        self.assert_same(partial(run_poisoned, compiled))

    def assert_same_on_gpu(self):
        compiled = compile_gpu_unchecked(self.pipeline, self.schedule("gpu"))
        for order in ("forward", "reverse"):
            self.assert_same(partial(compiled.run, executor=Emulator(order=order)))

    def assert_same_in_halide(self, stem):
        pytest.importorskip("halide", reason="the extra `halide` is not installed")
        bridge = importlib.import_module("spaces.backend.halide.bridge")
        peer = bridge.build(self.pipeline, self.schedule(stem))
        self.assert_same(partial(peer.realize, target=bridge.STRICT), self.peer_ulps)


def apart(array, gap=3):
    """The same values, with ``gap`` unused elements after each line."""
    wider = np.full((*array.shape[:-1], array.shape[-1] + gap), np.array(77, array.dtype))
    wider[..., : array.shape[-1]] = array
    return wider[..., : array.shape[-1]]
