"""The process behind :mod:`spaces.backend.halide.isolated`: it reads a pickled job and writes a
pickled answer.
"""

from __future__ import annotations

import os
import pickle
import sys

from spaces.backend.arguments import ArgumentError
from spaces.backend.halide.bridge import build
from spaces.backend.halide.errors import HalideFailure
from spaces.backend.halide.isolated import Answer, Job


def main() -> None:
    """Reads a job, runs it, and writes its answer."""
    # Halide prints to the standard output; the answer goes to the original standard output.
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    job: Job = pickle.load(sys.stdin.buffer)
    try:
        peer = build(job.pipeline, job.schedule)
        answer = Answer(peer.realize(job.inputs, job.params, job.sizes, job.target))
    except (HalideFailure, ArgumentError) as error:
        answer = Answer({}, error)
    with answers:
        pickle.dump(answer, answers)


if __name__ == "__main__":
    main()
