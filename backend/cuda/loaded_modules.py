"""Texts that the driver has loaded, each as long as somebody may launch its kernels."""

from __future__ import annotations

import weakref
from collections import deque
from collections.abc import Callable
from typing import Any
from weakref import WeakKeyDictionary

from attrs import define, field

from spaces.backend.arrays.streams import Stream
from spaces.backend.cuda.drivers.driver import Driver, KernelCall
from spaces.backend.cuda.kernel import CudaKernel, CudaModule
from spaces.backend.cuda.plan import DevicePart, Plan
from spaces.backend.cuda.ready_plan import ReadyPart, ReadyPlan
from spaces.backend.cuda.scratch import Scratch
from spaces.model.memo import Memo

_STREAMS = 8
"""In this many streams a plan stays prepared."""


@define(eq=False)
class LoadedModule:
    """A module of the driver, and its functions by name."""

    native: Any
    functions: dict[str, Any] = field(factory=dict)


@define
class LoadedModules:
    """The modules of one device. One that no pipeline and no plan refers to is unloaded at the next
    call.

    Attributes:
        driver: loads and unloads them.
        compiled: the CUBIN of a text.
    """

    driver: Driver
    compiled: Callable[[CudaModule], bytes]
    _loaded: WeakKeyDictionary[CudaModule, LoadedModule] = field(
        init=False, factory=WeakKeyDictionary
    )
    _ready: WeakKeyDictionary[Plan, Memo[ReadyPlan]] = field(init=False, factory=WeakKeyDictionary)
    _ended: deque[Any] = field(init=False, factory=deque)

    def ready(self, module: CudaModule, planned: Plan, stream: Stream) -> ReadyPlan:
        """A plan whose launches in a stream are prepared."""
        known = self._ready.get(planned)
        if known is None:
            known = self._ready[planned] = Memo(_STREAMS)
        found = known.find(stream)
        if found is None:
            found = known.keep(stream, self._prepared(self._found(module), planned, stream))
        return found.value

    def unload_unused(self) -> None:
        """Ends the modules that nothing refers to. Needs a current context."""
        while self._ended:
            native = self._ended.popleft()
            self.driver.wait()
            self.driver.unload(native)

    def unload(self) -> None:
        """Ends all modules. Needs a current context."""
        self._ready.clear()
        self._loaded.clear()
        self.unload_unused()

    def _prepared(self, loaded: LoadedModule, planned: Plan, stream: Stream) -> ReadyPlan:
        queue = self.driver.stream_of(stream.handle, stream.given)
        scratch = Scratch.of(planned)
        parts = [part for part in planned.parts if isinstance(part, DevicePart)]
        ready = []
        for part, pointers in zip(parts, scratch.pointers, strict=True):
            calls = [
                KernelCall(
                    self._function(loaded, launch.kernel),
                    launch.grid,
                    launch.kernel.block,
                    launch.kernel.dynamic_shared_bytes,
                    launch.values,
                )
                for launch in part.launches
            ]
            prepared = self.driver.prepared(calls, queue)
            ready.append(ReadyPart.of(part, pointers, prepared))
        return ReadyPlan(loaded, scratch.nbytes, dict(zip(parts, ready, strict=True)))

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
