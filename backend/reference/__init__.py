"""Evaluation of a pipeline in NumPy, breadth first: the oracle for everything that runs faster.

It knows no schedule and no interval analysis. It evaluates each Func as a whole, over the box of
coordinates that are really read. To find the box, it evaluates the index expressions of the
consumers on *their* boxes and takes the smallest and largest values. It evaluates both arms of a
``select``, as Halide's bounds do.

============  =================================================================
`evaluate`    the only entry: from arrays to arrays
`formula`     an expression on a mesh of coordinates
`boxes`       boxes of coordinates, and the values of a Func on one
`evaluation`  the box of each Func, and the values, producers first
`updates`     update stages, in the order of their reduction domain
============  =================================================================
"""

from spaces.backend.reference.boxes import ImageBoundsError
from spaces.backend.reference.evaluation import evaluate

__all__ = ["ImageBoundsError", "evaluate"]
