"""NumPy arrays as the buffers of compiled code. They have the strides that the code is compiled for
(dense along the last axis unless the pipeline says otherwise) and never overlap.

A run copies arrays with other strides; it computes outputs with other strides in a new array and
copies them back.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Collection, Mapping
from typing import Any, TypeAlias

import numpy as np
from attrs import frozen

from spaces.backend.access import POISON, AccessMode
from spaces.backend.arguments import ArgumentError, Arguments, Array
from spaces.backend.arrays.given import GivenArrays, on_host
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.algorithm.undefined import may_keep
from spaces.model.expressions.types import Type

_LINE_BYTES = 64
"""The bytes of a cache line and of the widest vector."""


KnownStrides: TypeAlias = tuple[int | None, ...]
"""Strides in elements, innermost first; None where any stride is fine."""


@frozen
class Outputs:
    """The arrays of the outputs: those that a run returns, and those that compiled code writes."""

    returned: Mapping[str, Array]
    written: Mapping[str, Array]
    handed: Mapping[str, Any]
    """What the caller gave for outputs, which a run returns instead."""

    @staticmethod
    def make(
        pipeline: Pipeline,
        arguments: Arguments,
        given: GivenArrays,
        access_mode: AccessMode = AccessMode.PLAIN,
        names: Collection[str] | None = None,
    ) -> Outputs:
        """The given arrays where code can write them directly, else new arrays.

        If an output does not store a value everywhere, its new array begins with the values of the
        given array, or with zeros if none is given. For hardened code, new arrays of all other
        outputs begin with poison. ``names`` are the arrays to make, by default all.
        """
        out = on_host(given.outputs)
        returned, written = {}, {}
        kept = kept_buffers(pipeline)
        for name, type in pipeline.output_arrays.items():
            if names is not None and name not in names:
                continue
            shape = arguments.shape(name)
            steps = pipeline.steps(name, len(shape))
            if name in out:
                returned[name] = out[name]
            else:
                returned[name] = empty_with_steps(shape, type, steps)
                if name in kept:
                    returned[name][...] = 0
                elif access_mode is AccessMode.HARDENED:
                    poison(returned[name])
            others = [w for n, w in returned.items() if n != name]
            direct = _has_steps(returned[name], steps) and _is_injective(returned[name])
            if direct and not any(np.may_share_memory(returned[name], o) for o in others):
                written[name] = returned[name]
            else:
                written[name] = empty_with_steps(shape, type, steps)
                if name in kept:
                    written[name][...] = returned[name]
                elif access_mode is AccessMode.HARDENED:
                    poison(written[name])
        handed = {name: one for name, one in given.handed.items() if name in returned}
        return Outputs(returned, written, handed)

    def are_empty(self) -> bool:
        """Whether all outputs are empty."""
        return not any(array.size for array in self.written.values())

    def have_elements(self) -> bool:
        """Whether no output is empty."""
        return all(array.size for array in self.written.values())

    def results(self) -> dict[str, Any]:
        """The arrays to return, with their values."""
        for name, array in self.returned.items():
            if self.written[name] is not array:
                array[...] = self.written[name]
        return {**self.returned, **self.handed}


def kept_buffers(pipeline: Pipeline) -> frozenset[str]:
    """The arrays of outputs that may keep values from before, where they store none."""
    outputs = map(pipeline.function, pipeline.outputs)
    return frozenset(b for f in outputs if may_keep(f) for b in f.buffers)


def empty_with_steps(shape: tuple[int, ...], type: Type, steps: KnownStrides) -> Array:
    """A new array with the strides of ``steps``; dimensions without one get the largest strides.

    Raises:
        ArgumentError: the extents do not fit the strides.
    """
    extents = tuple(reversed(shape))
    order = sorted(range(len(steps)), key=lambda d: (steps[d] is None, steps[d] or 0, d))
    strides, reach = [0] * len(steps), 1
    for d in order:
        step = steps[d] or reach
        if step < reach and extents[d] > 1:
            raise ArgumentError(
                f"Dimension {d} of an array of extents {list(extents)}, innermost first, cannot "
                f"have a stride of {step} elements, as its definition says: those before it take "
                f"{reach}. Ask for a smaller size, or give it a larger stride."
            )
        strides[d] = step
        reach = max(reach, step * extents[d])
    data = aligned_memory(max(reach, 1), type)
    places = tuple(s * data.itemsize for s in reversed(strides))
    return np.lib.stride_tricks.as_strided(data, shape, places)


def poison(array: Array) -> None:
    """Fills an array with poison, the value of memory that code has not written."""
    array[...] = np.frombuffer(bytes([POISON]) * array.itemsize, array.dtype)[0]


def aligned_memory(elements: int, type: Type) -> Array:
    """New memory that begins at a cache line, so that no vector of that size touches two lines."""
    size = elements * type.dtype.itemsize
    data = np.empty(size + _LINE_BYTES, np.uint8)
    start = -data.ctypes.data % _LINE_BYTES
    return data[start : start + size].view(type.dtype)


def _has_steps(array: Array, steps: KnownStrides) -> bool:
    """Whether an array's strides are whole elements and equal the known strides, where they
    matter.
    """
    size = array.itemsize
    found = zip(reversed(array.strides), reversed(array.shape), steps, strict=True)
    if any(s is not None and n > 1 and stride != s * size for stride, n, s in found):
        return False
    aligned = array.ctypes.data % size == 0 if array.size else True
    return aligned and all(s % size == 0 for s in array.strides)


def _is_injective(array: Array) -> bool:
    """Whether it is sure that no two elements share memory."""
    if not array.size:
        return True
    reach = array.itemsize
    steps = zip(array.strides, array.shape, strict=True)
    for stride, extent in sorted((abs(s), n) for s, n in steps if n > 1):
        if stride < reach:
            return False
        reach = stride * (extent - 1) + reach
    return True


def image_arrays(
    pipeline: Pipeline, arguments: Arguments, outputs: Mapping[str, Array]
) -> dict[str, Array]:
    """The arrays of the images in the memory of the CPU; copies where compiled code cannot read the
    given ones.

    Raises:
        ArgumentError: an image is empty.
    """
    result = {}
    for image in pipeline.images:
        if image.name not in arguments.images:
            continue
        array = arguments.images[image.name]
        if array.size == 0:
            raise ArgumentError(
                f"Image {image.name} is empty (its shape is {array.shape}), but the output is not."
            )
        shared = any(np.may_share_memory(array, o) for o in outputs.values())
        steps = pipeline.steps(image.name, image.dimensions)
        if shared or not _has_steps(array, steps):
            held = empty_with_steps(array.shape, image.type, steps)
            held[...] = array
            array = held
        result[image.name] = array
    return result


def argument_words(
    pipeline: Pipeline, arguments: Arguments, arrays: Mapping[str, Array]
) -> ctypes.Array[ctypes.c_int64]:
    """The argument words of compiled code (see ``spaces.backend.llvm.codegen``)."""
    words: list[int] = []
    for name in (*(i.name for i in pipeline.images), *pipeline.output_arrays):
        array = arrays[name]
        words.append(array.ctypes.data)
        strides = reversed(array.strides)
        for (low, extent), stride in zip(arguments.ranges[name], strides, strict=True):
            words += [low, extent, stride // array.itemsize]
    for scalar in pipeline.scalars:
        words.append(scalar_word(scalar.type, arguments.scalars[scalar.name]))
    return (ctypes.c_int64 * len(words))(*words)


def scalar_word(type: Type, value: int | float | bool) -> int:
    """The 64-bit word that passes a scalar: an integer unchanged, a float as its bits."""
    if not type.is_float:
        return int(value)
    packed = struct.pack("<f" if type.bits == 32 else "<d", value)
    return int.from_bytes(packed.ljust(8, b"\0"), "little", signed=True)
