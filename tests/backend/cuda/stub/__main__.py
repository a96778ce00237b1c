"""``python -m tests.backend.cuda.stub APP ...``: small runs of apps through the driver that is
here, beside the emulator. Prints the binding, and for each app whether the bits are equal.
"""

from __future__ import annotations

import sys

import numpy as np

from backend.compile_gpu import compile_gpu
from backend.cuda.emulator import Emulator
from backend.cuda.launch import GpuExecutor
from spaces.constraints.devices.device import device
from spaces.constraints.legality.verify import verify
from tests.apps.runs import gpu_run
from tests.backend.cuda.stub.modules import use_stub_modules


def main(names: list[str]) -> None:
    use_stub_modules()
    gpu = GpuExecutor()
    print(gpu.binding, gpu.arch)
    for name in names:
        small = gpu_run(name)
        schedule = small.schedule("gpu")
        compiled = compile_gpu(verify(small.pipeline, schedule, device("sm_90")))
        found, wanted = (
            compiled.run(small.inputs, sizes=small.sizes, executor=executor)
            for executor in (gpu, Emulator())
        )
        print(name, all(np.array_equal(found[key], wanted[key]) for key in wanted))
    gpu.release()


if __name__ == "__main__":
    main(sys.argv[1:])
