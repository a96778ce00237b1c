"""Lanes that no warp has, and neighbors that are lanes of one."""

from __future__ import annotations

from spaces.constraints.examples.example import on_gpu
from spaces.constraints.examples.starts import GPU, D

EXAMPLES = (
    on_gpu("gpu.lanes", GPU.gpu_lanes("yi"), GPU.gpu_lanes("xi")),
    on_gpu(
        "gpu.lane-extent",
        D.split("x", "x", "xi", 64).gpu_blocks("x", "y").gpu_lanes("xi"),
        D.split("x", "x", "xi", 32).gpu_blocks("x", "y").gpu_lanes("xi"),
    ),
)
