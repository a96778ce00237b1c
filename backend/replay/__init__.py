"""Runs of unchecked programs, value by value: what a counterexample to a proof does.

A program that is not legal may not be compiled: it could crash, or be right by luck. Here it runs
in plain Python on memory that knows who wrote what, and its concurrent loops run in several orders,
so that a mistake is found and told instead.

==============  ==============================================================================
`run`           the entries: a schedule or a GPU program at the sizes of a counterexample
`report`        what went wrong: which access, in which iteration, which value
`inputs`        sizes, parameters and images of a run
`machine`       statements, and the accesses of expressions
`kernels`       the steps of a GPU program: its host and its kernels
`orders`        in which order concurrent iterations take their steps
`memory`        buffers that know who wrote what, and when
`formulas`      values of expressions, one at a time
==============  ==============================================================================
"""

from backend.replay.report import Fault, Replay, WrongValue
from backend.replay.run import replay_kernels, replay_nest

__all__ = ["Fault", "Replay", "WrongValue", "replay_nest", "replay_kernels"]
