"""A rule: the definition of an illegal schedule, and the function that finds where it applies.

A rule yields :class:`Check` records. Each holds a boolean formula, which the verdict reads as
ints, a lattice of tile sizes as arrays, and the solver as terms.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Generic, Self, TypeAlias, TypeVar

from attrs import field, frozen

from spaces.constraints.devices.device import Device
from spaces.constraints.rules.nest_view import NestView
from spaces.constraints.rules.phrases import stage_name
from spaces.constraints.rules.records import Records
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.expressions.expr import Const, Expr, constant
from spaces.model.expressions.types import Bool
from spaces.model.schedules.schedule import Schedule

CheckValue: TypeAlias = Expr | int | str | Callable[[], str]
"""A value in a message: a formula, a number, a text, or a function that makes a costly text."""

VIOLATED: Const = constant(False, Bool)
"""The formula of a check that fails for all parameters."""


@frozen
class Quantity:
    """The definition of a number that the messages of a rule name.

    Attributes:
        definition: what the number counts or measures.
        unit: the unit, in the plural.
    """

    definition: str
    unit: str


@frozen
class Check:
    """One place where a rule applies.

    Attributes:
        func: the Func whose schedule is judged.
        holds: the condition under which the place is legal; :data:`VIOLATED` if no number makes it
            legal.
        message: what is wrong if ``holds`` is false, with ``{name}`` for each of ``values``, and
            ``{func}``, ``{stage_name}`` and ``{loop}`` for the place itself.
        advice: what to change, with the same names.
        stage: 0 for the pure stage, n for update n - 1.
        loop: the loop, Var or dimension at fault, as written; empty if the fault has none.
        values: the other values that the message names; one of the same name stands for the place.
    """

    func: str
    holds: Expr
    message: str
    advice: str = ""
    stage: int = 0
    loop: str = ""
    values: Mapping[str, CheckValue] = field(factory=dict, repr=False)

    @property
    def named_values(self) -> dict[str, CheckValue]:
        """All values that the message names, those of the place included."""
        name = stage_name(self.func, self.stage)
        place = {"func": self.func, "stage_name": name, "loop": self.loop}
        template = self.message + self.advice
        return {n: v for n, v in place.items() if f"{{{n}}}" in template} | dict(self.values)


def check(
    func: str,
    holds: Expr,
    message: str,
    advice: str = "",
    /,
    *,
    stage: int = 0,
    loop: str = "",
    **values: CheckValue,
) -> Check:
    """A check with the values of its message as keywords."""
    return Check(func, holds, message, advice, stage, loop, values)


def refuse(
    func: str,
    message: str,
    advice: str = "",
    /,
    *,
    stage: int = 0,
    loop: str = "",
    **values: CheckValue,
) -> Check:
    """A check that fails for all parameters, with the values of its message as keywords."""
    return Check(func, VIOLATED, message, advice, stage, loop, values)


RESTRICTION = "where "
"""The start of the id of a rule that restricts a space."""

S = TypeVar("S")


@frozen
class _Rule(Generic[S]):
    """The parts of every rule.

    Attributes:
        id: the subject and a name within it.
        statement: one sentence that defines which schedule is illegal, and says why.
        source: the paper, vendor table or tool behind the rule.
        check: yields each place where the rule applies.
        quantities: the numbers among the ``values`` of its checks, by name.
    """

    id: str
    statement: str
    source: str
    check: Callable[[S, str], Iterable[Check]]
    quantities: Mapping[str, Quantity] = field(factory=dict, eq=False)

    @classmethod
    def of(
        cls, id: str, statement: str, source: str, **quantities: Quantity
    ) -> Callable[[Callable[[S, str], Iterable[Check]]], Self]:
        """Make a function ``(subject, func) -> checks`` a rule of this kind, as a decorator."""
        return lambda check: cls(id, statement, source, check, quantities)


@frozen
class PipelineRule(_Rule[tuple[Pipeline, Device]]):
    """A rule that reads no schedule: it refuses a pipeline under every schedule. ``check`` runs
    once for the whole pipeline, with the pipeline's name in place of a Func's.
    """


@frozen
class MatchRule(_Rule[tuple[Pipeline, Schedule]]):
    """A rule about which entries a schedule has. If one fails, no other kind of rule runs.
    ``check`` runs once for the whole schedule, with the pipeline's name in place of a Func's.
    """


@frozen
class OwnRule(_Rule[Records]):
    """A rule about one Func that reads only the entry of this Func."""


@frozen
class CallRule(_Rule[Records]):
    """A rule about one Func that reads its entry and those of all its consumers, direct or not."""


@frozen
class NestRule(_Rule[NestView]):
    """A rule about the loop nest; ``check`` runs once for each computed Func."""


@frozen
class ExactRule(_Rule[Records]):
    """A rule for callers who want the results of the algorithm bit for bit (``exact=True``);
    ``check`` runs once for each Func.
    """


@frozen
class Undecided:
    """What no proof shows about one nest.

    Attributes:
        view: the nest.
        left: for each Func concerned what should hold, and what is known instead: two sentences.
    """

    view: NestView
    left: Mapping[str, tuple[str, str]]


@frozen
class ProofRule(_Rule[Undecided]):
    """A rule that the prover decides, about a nest that satisfies all other rules; ``check`` runs
    once for each Func about which something is undecided.
    """


@frozen
class SpaceRule(_Rule[Schedule]):
    """A restriction that the user of a space gives; no catalogue lists it. ``check`` runs once for
    a structure that has a loop nest, with the pipeline's name in place of a Func's.

    Attributes:
        funcs: the Funcs whose entries, with those of their consumers, decide it; empty if other
            entries may change it.
    """

    funcs: frozenset[str] = frozenset()


Rule: TypeAlias = (
    PipelineRule | MatchRule | OwnRule | CallRule | NestRule | ProofRule | ExactRule | SpaceRule
)


@frozen
class AdviceRule(_Rule[NestView]):
    """Advice on a directive that has no effect, or one that its author may not expect. ``check``
    runs once for each Func of a legal schedule; the schedule stays legal if a check fails.
    """


pipeline_rule = PipelineRule.of
match_rule = MatchRule.of
own_rule = OwnRule.of
call_rule = CallRule.of
nest_rule = NestRule.of
proof_rule = ProofRule.of
exact_rule = ExactRule.of
advice_rule = AdviceRule.of
