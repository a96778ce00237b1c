"""The words of schedules in text that are no directives, or none that mean anything here."""

from __future__ import annotations

from spaces.model.directives.directives import Directives
from spaces.model.schedules.choice import Choice
from spaces.model.schedules.domain_order import Tail

RESERVED = frozenset(
    {
        "Halide",
        "hl",
        "LoopLevel",
        "DeviceAPI",
        *(choice.halide for choice in Choice.__subclasses__()),
        *(tail.spelled for tail in Tail),
    }
)
"""Words that are never the name of a loop or Func unless quoted."""


WITHOUT_EFFECT = ("unscheduled",)
"""Directives that say that nothing is said."""

_LATER = "is not supported; remove it."
UNSUPPORTED: dict[str, str] = {
    **{
        name: f"{name} {_LATER}"
        for name in (
            *("hexagon", "tensorcore", "no_profiling"),
            *("trace_loads", "trace_stores", "trace_realizations", "add_trace_tag"),
            *("copy_to_device", "copy_to_host", "print_loop_nest"),
        )
        if not hasattr(Directives, name)
    },
    "allow_race_conditions": (
        "allow_race_conditions is not supported, as results would depend on which thread comes "
        "first; write atomic() on an update such as a sum, or give each iteration a partial "
        "result by rfactor(...)."
    ),
    "eager_inline": "eager_inline is not supported; use compute_inline().",
    "gpu": "gpu(...) is not supported; use gpu_blocks(...) and gpu_threads(...).",
    "dim": "dim is part of the algorithm: say it of the image or output in the pipeline.",
    **{
        name: f"{name} is part of the algorithm: give pipeline(...) its estimates instead."
        for name in ("set_estimate", "set_estimates", "estimate")
    },
}
"""Directives of Halide's that mean nothing here, each with what to do instead."""


def plainly(word: str) -> str:
    """A word without case and underscores, to recognise it however it is spelled."""
    return word.replace("_", "").lower()
