"""Runs unchecked programs value by value, to show what a counterexample to a proof does.

Compiled code of an illegal program could crash, or be right by luck. A replay runs the program in
plain Python on memory that knows the writer of each element, and runs its concurrent loops in
several orders. So it finds and reports a mistake.

============  ====================================================================
`run`         the entries: a schedule or a GPU program at the sizes of a counterexample
`report`      the faults: which access, in which iteration, which value
`inputs`      sizes, parameters and images of a run
`machine`     statements, and the accesses of expressions
`kernels`     the steps of a GPU program: its host and its kernels
`orders`      the order in which concurrent iterations take their steps
`memory`      buffers that know the writer of each element
`formulas`    values of expressions, one at a time
============  ====================================================================
"""

from spaces.backend.replay.report import Fault, Replay, WrongValue
from spaces.backend.replay.run import replay_kernels, replay_nest

__all__ = ["Fault", "Replay", "WrongValue", "replay_nest", "replay_kernels"]
