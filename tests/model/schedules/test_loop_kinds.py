"""The properties of each kind of loop, written down by hand."""

import pytest

from spaces.model.schedules.domain_order import LoopKind

PROPERTIES = {
    LoopKind.SERIAL: {"is_scalar_loop"},
    LoopKind.PARALLEL: {"uses_threads", "is_concurrent", "is_scalar_loop"},
    LoopKind.VECTORIZED: {"is_concurrent", "has_constant_extent"},
    LoopKind.UNROLLED: {"has_constant_extent"},
    LoopKind.GPU_BLOCK: {"is_gpu", "uses_threads", "is_concurrent"},
    LoopKind.GPU_THREAD: {"is_gpu", "uses_threads", "is_concurrent"},
}


@pytest.mark.parametrize("kind", LoopKind)
def test_each_kind_has_the_properties_of_how_it_runs(kind: LoopKind) -> None:
    properties = {name: value for name, value in vars(kind).items() if not name.startswith("_")}
    assert {name for name, holds in properties.items() if holds} == PROPERTIES[kind]
