"""What a process that runs a case has before it begins: Halide, the cases, and what Halide makes
once in a process, which takes it four times as long as most cases.
"""

from tests.halide_corpus.corpus import cases
from tests.halide_corpus.halide_side import observed

observed(next(iter(cases().values())))
