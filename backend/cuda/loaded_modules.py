"""Texts that the driver has loaded, each as long as somebody may launch its kernels."""

from __future__ import annotations

import weakref
from collections import deque
from collections.abc import Callable
from typing import Any
from weakref import WeakKeyDictionary

from attrs import define, field

from backend.arrays.stream import Stream
from backend.cuda.drivers.driver import Driver, PreparedLaunch
from backend.cuda.kernel import CudaKernel, CudaModule
from backend.cuda.plan import PlannedLaunch


@define(eq=False)
class LoadedModule:
    """A module of the driver, and its functions by name."""

    native: Any
    functions: dict[str, Any] = field(factory=dict)


@define
class LoadedModules:
    """The modules of one device. One that no pipeline and no launch refers to is unloaded at the
    next call, since then no kernel of it waits.

    Attributes:
        driver: loads and unloads them.
        compiled: the CUBIN of a text.
    """

    driver: Driver
    compiled: Callable[[CudaModule], bytes]
    _loaded: WeakKeyDictionary[CudaModule, LoadedModule] = field(
        init=False, factory=WeakKeyDictionary
    )
    _launches: WeakKeyDictionary[PlannedLaunch, dict[Stream, _Launch]] = field(
        init=False, factory=WeakKeyDictionary
    )
    _ended: deque[Any] = field(init=False, factory=deque)

    def launch(self, module: CudaModule, launch: PlannedLaunch, stream: Stream) -> PreparedLaunch:
        """A planned launch on a stream, ready to be made."""
        ready = self._launches.setdefault(launch, {})
        if stream not in ready:
            loaded, kernel = self._found(module), launch.kernel
            ready[stream] = _Launch(
                loaded,
                self.driver.launch(
                    self._function(loaded, kernel),
                    launch.grid,
                    kernel.block,
                    kernel.dynamic_shared_bytes,
                    launch.values,
                    stream,
                ),
            )
        return ready[stream].make

    def unload_unused(self) -> None:
        """Ends the modules that nothing refers to. Needs a current context."""
        while self._ended:
            native = self._ended.popleft()
            self.driver.wait()
            self.driver.unload(native)

    def _found(self, module: CudaModule) -> LoadedModule:
        if module not in self._loaded:
            native = self.driver.load(self.compiled(module))
            loaded = self._loaded[module] = LoadedModule(native)
            # Any thread may end it, and there no context need be current.
            weakref.finalize(loaded, self._ended.append, native)
        return self._loaded[module]

    def _function(self, loaded: LoadedModule, kernel: CudaKernel) -> Any:
        if kernel.name not in loaded.functions:
            loaded.functions[kernel.name] = self.driver.function(
                loaded.native, kernel.name, kernel.dynamic_shared_bytes
            )
        return loaded.functions[kernel.name]


@define(eq=False)
class _Launch:
    """A launch, which keeps its module loaded."""

    module: LoadedModule
    make: PreparedLaunch
