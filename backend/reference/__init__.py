"""Evaluation of a pipeline in NumPy, breadth first: the oracle for everything that runs faster.

It knows no schedule and no interval analysis. Every Func is evaluated whole, over the box of
coordinates that is really read: the index expressions of its consumers are evaluated on *their*
boxes, and the smallest and largest values found are its own. Both arms of a ``select`` are
evaluated, as Halide's bounds are.

==============  ==============================================================================
`evaluate`      the one entry: arrays in, arrays out
`formula`       an expression on a mesh of coordinates
`boxes`         boxes of coordinates, and the values of a Func on one
`evaluation`    who needs whom where, and values producers first
`updates`       update stages, in the order of their reduction domain
==============  ==============================================================================
"""

from backend.reference.boxes import ImageBoundsError
from backend.reference.evaluation import evaluate

__all__ = ["ImageBoundsError", "evaluate"]
