"""All planted bugs, by area."""

from __future__ import annotations

from tests.mutants import (
    barriers,
    blending,
    derivations,
    fusing,
    layout,
    limits,
    lowering,
    operators,
    prefetching,
    proofs,
    prover,
    regions,
    replaying,
    rules,
    shuffling,
    single_threads,
    specializing,
    texts,
    tuples,
    windows,
    wrapping,
)
from tests.mutants.mutant import Mutant

AREAS: dict[str, tuple[Mutant, ...]] = {
    "regions": regions.MUTANTS,
    "limits of values": limits.LIMITS,
    "sliding window": windows.SLIDING,
    "folding": windows.FOLDING,
    "blended tails": blending.MUTANTS,
    "layout": layout.LAYOUT,
    "explicit bounds": layout.BOUNDS,
    "specializing": specializing.SPECIALIZING,
    "single threads": single_threads.SINGLE_THREADS,
    "prefetching": prefetching.PREFETCHING,
    "operators": operators.MUTANTS,
    "what wraps": wrapping.WRAPPING,
    "fused loops": fusing.FUSING,
    "lowering": lowering.MUTANTS,
    "shuffles": shuffling.SHUFFLES,
    "casts of floats and C programs": shuffling.BORDERS,
    "tuples": tuples.TUPLES,
    "predicates": tuples.WHERE,
    "barriers": barriers.MUTANTS,
    "rules": rules.MUTANTS,
    "derived Funcs and atomic updates": derivations.MUTANTS,
    "texts and commands": texts.TEXTS,
    "prover": (*prover.MUTANTS, *proofs.MUTANTS),
    "proofs of barriers": proofs.BARRIERS,
    "replay": replaying.REPLAY,
    "repair and preconditions": (
        *replaying.REPAIR,
        *replaying.SEARCH,
        *replaying.PRECONDITIONS,
    ),
}

MUTANTS: tuple[Mutant, ...] = tuple(m for mutants in AREAS.values() for m in mutants)
