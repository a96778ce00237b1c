"""What operations cost on a CPU."""

from __future__ import annotations

from attrs import frozen


@frozen
class Prices:
    """The cycles of one core for each operation, without other delays.

    The defaults are near a fit to the times of some hundred schedules on a server core of 2024.
    Only the prices of memory and rows are higher: few of these schedules tile short rows. Only the
    proportions of prices matter.
    """

    instruction: float = 0.45
    load: float = 0.9
    store: float = 1.0
    lane: float = 0.65
    """One lane of a load whose lanes are apart."""
    gather: float = 2.0
    """One lane of a load along several dimensions, whose address is computed for each lane."""
    scatter: float = 3.0
    """One lane of a store whose lanes are apart."""
    shuffle: float = 0.9
    """A vector whose lanes come from two others: two instructions, for few units execute it."""
    transcendental: float = 15.0
    division: float = 10.0
    """An integer division by a number that compilers don't know. One of 32 bits takes 9 to 15
    cycles, and the next one begins after 6 (uops.info, DIV (R32): Rocket Lake, Alder Lake-P,
    Zen 4).
    """
    latency: float = 5.0
    """From one term of a sum of floats to the next: a fused multiplication and addition."""
    forwarding: float = 5.0
    """More between two terms if the sum is stored and loaded again."""
    atomic: float = 10.0
    """An update in one step: five times a load and a store, as measured for random elements of an
    array in the first-level cache."""
    contended: float = 85.0
    """Taking a line from another thread that updates it: as much as 45 loads and stores, as
    measured for two threads and 4 to 16 lines."""
    stall: float = 20.0
    """Waiting for stores that a load needs parts of."""
    iteration: float = 0.5
    visit: float = 30.0
    """Entering an innermost loop."""
    allocation: float = 15.0
    byte: float = 0.02
    """One byte of an allocation."""
    task: float = 300.0
    """Handing one iteration of a parallel loop to a thread."""
    launch: float = 10_000.0
    """Starting a parallel loop and waiting for its end."""
    line_from_l2: float = 0.25
    line_from_l3: float = 1.2
    line_from_memory: float = 5.0
    row_from_l3: float = 10.0
    """The prefetcher finds a new row in the third-level cache."""
    row_from_memory: float = 25.0
    """The prefetcher finds a new row in memory."""
