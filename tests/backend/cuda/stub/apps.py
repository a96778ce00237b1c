"""All apps with a schedule for GPUs, through both bindings of the driver: what they compute, and
each call that they make.
"""

from __future__ import annotations

import gc
import sys
from collections import Counter
from collections.abc import Iterator

import numpy as np
import pytest

from spaces import APPS, Emulator, GpuExecutor, GpuPipeline, compile_gpu, device, verify
from spaces.backend.cuda.drivers.pycuda import Pycuda
from spaces.backend.cuda.plan import PlannedLaunch
from tests.apps.runs import gpu_run
from tests.backend.cuda.stub import pycuda_over_driver
from tests.backend.cuda.stub.log import calls, now
from tests.backend.cuda.stub.modules import use_stub_modules

use_stub_modules()


@pytest.fixture(scope="module", params=["cuda-bindings", "pycuda"])
def gpu(request: pytest.FixtureRequest) -> Iterator[GpuExecutor]:
    with pytest.MonkeyPatch.context() as patch:
        if request.param == Pycuda.binding:
            patch.setitem(sys.modules, "cuda.bindings.driver", None)
            patch.setitem(sys.modules, "pycuda.driver", pycuda_over_driver)
        executor = GpuExecutor()
        assert executor.binding == request.param
        yield executor


_COMPILED: dict[str, tuple[GpuPipeline, dict[str, np.ndarray]]] = {}


def compiled(name: str) -> tuple[GpuPipeline, dict[str, np.ndarray]]:
    """An app, and what the emulator computes."""
    if name not in _COMPILED:
        small = gpu_run(name)
        checked = verify(small.pipeline, small.schedule("gpu"), device("sm_90"))
        made = compile_gpu(checked)
        wanted = made.run(small.inputs, sizes=small.sizes, executor=Emulator())
        _COMPILED[name] = made, wanted
    return _COMPILED[name]


NAMES = sorted(name for name, app in APPS.items() if "gpu" in app.schedules)


@pytest.mark.parametrize("name", NAMES)
def test_calls_of_an_app(name: str, gpu: GpuExecutor) -> None:
    """Two runs: each launch of the plan once in its order, with its grid and block; what goes up
    and comes down has its size; memory is freed once, nothing is left.
    """
    pipeline, wanted = compiled(name)
    small, at = gpu_run(name), now()
    for _ in range(2):
        found = pipeline.run(small.inputs, sizes=small.sizes, executor=gpu)
        for output, values in wanted.items():
            np.testing.assert_array_equal(found[output], values)
    (entry,) = pipeline._recent.entries
    _, host = entry.value
    planned = [step for step in host.planned.steps if isinstance(step, PlannedLaunch)]
    launches = [
        [one.kernel.name, *map(str, (*one.grid, *one.kernel.block)),
         str(one.kernel.dynamic_shared_bytes), "0"]
        for one in planned
    ]  # fmt: skip
    assert calls("launch", at) == 2 * launches
    assert len(calls("load", at)) == 1
    kernels = {one.kernel.name: one.kernel.dynamic_shared_bytes for one in planned}
    assert sorted(name for (name,) in calls("function", at)) == sorted(kernels)
    asked = {(kernel, "8", str(shared)) for kernel, shared in kernels.items() if shared}
    assert set(map(tuple, calls("attribute", at))) == asked
    if not pipeline._parts:  # else the host and the GPU take turns
        downs = Counter(str(array.nbytes) for array in found.values())
        read = {name for one in planned for name, _ in one.buffers}
        ups = Counter(str(a.nbytes) for name, a in small.inputs.items() if name in read)
        assert Counter(nbytes for _, nbytes, _ in calls("upload", at)) == ups + ups
        assert Counter(nbytes for _, nbytes, _ in calls("download", at)) == downs + downs
    gc.collect()
    gpu.release()
    allocated = Counter(address for address, _ in calls("allocate", at))
    assert allocated == Counter(address for (address,) in calls("free", at))
    assert len(calls("push", at)) == len(calls("pop", at))
    assert not calls("STOPPED", at)
