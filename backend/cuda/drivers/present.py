"""Which binding of the CUDA driver is here."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from spaces.backend.cuda.drivers.cuda_bindings import CudaBindings
from spaces.backend.cuda.drivers.driver import Driver
from spaces.backend.cuda.drivers.pycuda import Pycuda
from spaces.backend.cuda.errors import CudaUnavailable
from spaces.model.extras import how_to_install

BINDINGS: Mapping[str, Callable[[], Driver]] = {
    CudaBindings.binding: CudaBindings,
    Pycuda.binding: Pycuda,
}
"""How to begin with each binding, those whose launches cost less first."""


def present_driver() -> Driver:
    """The driver, by the first binding that can be imported.

    Raises:
        CudaUnavailable: no binding can be imported, there is no driver, or it finds no device.
    """
    missing = []
    for name, begin in BINDINGS.items():
        try:
            driver = begin()
        except ImportError as error:
            missing.append(f"{name}: {error}")
            continue
        if driver.count() == 0:
            raise CudaUnavailable("the CUDA driver finds no device")
        return driver
    raise CudaUnavailable(
        f"launching needs an NVIDIA driver and a package that calls it, but none can be imported "
        f"({'; '.join(missing)}); {how_to_install('cuda')}"
    )
