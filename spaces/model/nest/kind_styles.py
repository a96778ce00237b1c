"""The styles in which cards show kinds of loops."""

from __future__ import annotations

from collections.abc import Mapping

from spaces.markup.card import Style
from spaces.model.schedules.domain_order import LoopKind

KIND_STYLES: Mapping[LoopKind, Style] = {
    LoopKind.SERIAL: "serial",
    LoopKind.PARALLEL: "parallel",
    LoopKind.VECTORIZED: "vectorized",
    LoopKind.UNROLLED: "unrolled",
    LoopKind.GPU_BLOCK: "gpu_block",
    LoopKind.GPU_THREAD: "gpu_thread",
}
