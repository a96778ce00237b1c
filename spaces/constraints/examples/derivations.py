"""Derivations that cannot be applied, and neighbors that can."""

from __future__ import annotations

from attrs import evolve

from spaces.constraints.examples import algorithms
from spaces.constraints.examples.example import Example, cpu, on_cpu
from spaces.constraints.examples.starts import POWERS, SUM, D
from spaces.model.directives.directives import schedule
from spaces.model.schedules.derivations import Clone, RFactor

TAKEN = schedule(algorithms.taken())
NEAREST = schedule(algorithms.nearest())

EXAMPLES = (
    on_cpu(
        "derive.unknown-func",
        D.func("bx").in_("bz").compute_root(),
        D.func("bx").in_("by").compute_root(),
    ),
    Example(
        "derive.unknown-func",
        evolve(
            cpu(D.derive(Clone("input", ("bx",)))),
            python='schedule(blur()).derive(Clone("input", ("bx",))).schedule',
        ),
        cpu(D.func("input").in_("bx").compute_root()),
        "a clone of an image",
    ),
    on_cpu(
        "derive.not-read",
        D.func("input").in_("by").compute_root(),
        D.func("input").in_("bx").compute_root(),
    ),
    on_cpu(
        "derive.not-read", D.func("by").in_(), D.func("bx").in_(), "an output that no Func reads"
    ),
    on_cpu("derive.name-taken", TAKEN.func("p").in_(), TAKEN.func("p").in_("q")),
    Example(
        "derive.update",
        evolve(
            cpu(SUM.derive(RFactor("s", 1, (), (("r.x", "u"),)))),
            python='schedule(total()).derive(RFactor("s", 1, (), (("r.x", "u"),))).schedule',
        ),
        cpu(SUM.rfactor("r.x", "u")),
    ),
    on_cpu("derive.operator", POWERS.rfactor("r.y", "u"), SUM.rfactor("r.y", "u")),
    on_cpu(
        "derive.order",
        NEAREST.func("s").update(0).rfactor("r.x", "u"),
        NEAREST.func("s").update(0).rfactor("r.y", "u"),
    ),
    on_cpu("derive.factored-loop", SUM.rfactor("y", "u"), SUM.rfactor("r.y", "u")),
    on_cpu(
        "derive.factored-loop",
        SUM.split("r.x", "ro", "ri", 2).rfactor("r.x", "u"),
        SUM.split("r.x", "ro", "ri", 2).rfactor("ro", "u"),
        "a loop that is split",
    ),
    on_cpu(
        "derive.split",
        SUM.split("r.x", "ro", "ri", 3, "round_up").rfactor("ri", "u"),
        SUM.split("r.x", "ro", "ri", 3).rfactor("ri", "u"),
    ),
    on_cpu("derive.new-var", SUM.rfactor("r.y", "x"), SUM.rfactor("r.y", "z")),
)
