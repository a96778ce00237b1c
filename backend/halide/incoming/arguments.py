"""The images and Params of a pipeline, and the arrays that are inside of it."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
from attrs import define, field
from numpy.typing import NDArray

from spaces.backend.halide.file.contents import BufferTable
from spaces.backend.halide.incoming.expressions import element_type
from spaces.backend.halide.incoming.names import IncomingNames
from spaces.backend.halide.incoming.problems import (
    Problems,
    Unsupported,
    refusals_unsupported,
)
from spaces.backend.halide.incoming.roles import Roles
from spaces.model.algorithm.image_param import ImageParam
from spaces.model.algorithm.param import Param


@define
class IncomingArguments:
    """The images and Params by their names in Halide; ``arrays`` has the values of those images
    that are inside the file, by their names here.
    """

    images: dict[str, ImageParam] = field(factory=dict)
    scalars: dict[str, Param] = field(factory=dict)
    arrays: dict[str, NDArray[np.generic]] = field(factory=dict)

    @staticmethod
    def of(roles: Roles, given: IncomingNames, problems: Problems) -> IncomingArguments:
        """The arguments of a pipeline."""
        made, names = IncomingArguments(), given.arguments
        for name, count in Counter(roles.images.values()).items():
            with problems.at(f"image {names.get(name, name)}"):
                if count > 1:
                    raise Unsupported("several images have this name; give each its own.")
        for one in roles.inputs():
            what = "image" if one.is_buffer else "Param"
            with problems.at(f"{what} {names[one.name]}"), refusals_unsupported():
                if one.is_buffer:
                    image = ImageParam(element_type(one.type), one.dimensions, names[one.name])
                    made.images[one.name] = image
                else:
                    made.scalars[one.name] = Param(element_type(one.type), names[one.name])
        for buffer in roles.contents.buffers:
            with problems.at(f"array {names[buffer.name]}"), refusals_unsupported():
                made._add_array(buffer, names[buffer.name])
        return made

    def _add_array(self, buffer: BufferTable, name: str) -> None:
        type = element_type(buffer.type)
        if len(buffer.dims) != buffer.dimensions:
            raise Unsupported("the file does not tell its size.")
        image = ImageParam(type, buffer.dimensions, name)
        extents = [dim.extent for dim in buffer.dims]
        if any(e < 1 for e in extents) or math.prod(extents) * type.bytes != len(buffer.data):
            raise Unsupported("the file has another number of values than its size tells.")
        for d, dim in enumerate(buffer.dims):
            image.dim(d).set_bounds(dim.min, dim.extent)
        flat = np.frombuffer(buffer.data, type.dtype)
        self.images[buffer.name] = image
        self.arrays[name] = flat.reshape(extents[::-1])
