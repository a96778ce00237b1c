"""Proofs about lowered GPU programs that hold for every size.

- ``sites``: the accesses of a kernel's body, and the statements around each.
- ``meetings``: whether two accesses may run between the same two barriers.
- ``places``: when two indices are the same place.
- ``barriers``: the obligations, and the proofs of them.
"""

from spaces.backend.proofs.barriers import barrier_obligations, barrier_proofs, prove_barriers
from spaces.backend.proofs.places import shapes

__all__ = ["barrier_obligations", "barrier_proofs", "prove_barriers", "shapes"]
