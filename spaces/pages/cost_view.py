"""Where time goes: the price of each Func beside its measured time."""

from __future__ import annotations

from collections.abc import Iterator

from spaces.backend.profiling.profile import Profile
from spaces.markup.element import Child, Markup, joined, share_bar, table, tag
from spaces.markup.quantities import shown_count, shown_seconds, shown_share
from spaces.model.amounts import amount
from spaces.pages.facts import FuncFact, ScheduleFacts
from spaces.pages.nest_view import link

ODD = 2.0
"""A price and a time whose shares differ by this factor are marked, where both matter."""

_MATTERS = 0.03
"""A share that matters."""


def cost_view(facts: ScheduleFacts, profile: Profile | None, prefix: str) -> Markup:
    """A row for each computed Func: its share of the price, its share of the measured time, and
    whether the two disagree.
    """
    if facts.missing:
        return tag("p", facts.missing, class_="note")
    rows = [_row(fact, facts, profile, prefix) for fact in _dearest_first(facts, profile)]
    columns: list[Child] = ["Func", "price", ""]
    columns += ["time", ""] if profile is not None else []
    columns += ["computed", "evaluations"]
    columns += [] if facts.kernels else ["lanes"]
    return tag("div", _sentence(facts, profile), table(columns, rows, "shares"), class_="scroll")


def odd_funcs(facts: ScheduleFacts, profile: Profile) -> Iterator[str]:
    """The Funcs whose share of the price and of the time differ by the factor :data:`ODD`; none if
    other programs disturbed the times.
    """
    if profile.is_disturbed:
        return
    whole = facts.price.cost if facts.price is not None else 0.0
    for fact in facts.funcs:
        if whole and fact.name in profile.by_func:
            inside = (facts.by_name[name] for name in profile.by_func[fact.name].within)
            priced = (fact.cost + sum(one.cost for one in inside)) / whole
            timed = profile.share(fact.name)
            least, most = sorted((priced, timed))
            if most > _MATTERS and most > ODD * least:
                yield fact.name


def _dearest_first(facts: ScheduleFacts, profile: Profile | None) -> list[FuncFact]:
    computed = [fact for fact in facts.funcs if fact.role != "inlined"]
    if profile is None:
        return sorted(computed, key=lambda fact: -fact.cost)
    return sorted(computed, key=lambda fact: (-profile.share(fact.name), -fact.cost))


def _row(fact: FuncFact, facts: ScheduleFacts, profile: Profile | None, prefix: str) -> list[Child]:
    whole = facts.price.cost if facts.price is not None else 0.0
    share = fact.cost / whole if whole else 0.0
    row: list[Child] = [tag("span", link(fact.name, fact.name, facts, prefix), data_func=fact.name)]
    if fact.kernel and not fact.cost:
        row += [tag("span", f"in {fact.kernel}", class_="quiet"), None]
    else:
        row += [shown_share(share), share_bar(share, "price")]
    if profile is not None:
        row += _timed(fact, facts, profile)
    row += [fact.compute, shown_count(fact.points)]
    if facts.kernels:
        return row
    return [*row, shown_count(max((stage.lanes for stage in fact.stages), default=1))]


def _timed(fact: FuncFact, facts: ScheduleFacts, profile: Profile) -> list[Child]:
    found = profile.by_func.get(fact.name)
    if found is None:
        holder = next((one.func for one in profile.funcs if fact.name in one.within), "")
        return [tag("span", f"in {holder}" if holder else "-", class_="quiet"), None]
    share = profile.share(fact.name)
    odd = "odd" if fact.name in odd_funcs(facts, profile) else None
    more = f" with {', '.join(found.within)}" if found.within else ""
    about = f"{shown_seconds(found.seconds)} of all threads, {found.visits:,} visits{more}"
    return [tag("span", shown_share(share), class_=odd, title=about), share_bar(share, "time")]


def _sentence(facts: ScheduleFacts, profile: Profile | None) -> Markup:
    told = []
    if facts.price is not None:
        told.append(f"The model {facts.price.model} prices this schedule {facts.price.cost:,.4g}.")
    if facts.kernels:
        told.append("The price of a kernel stands at the Func that names it.")
    if profile is None:
        told.append(_NO_KERNEL_RAN if facts.kernels else _NOT_RUN)
        return tag("p", " ".join(told))
    counters = f"; counters add {shown_share(max(profile.overhead, 0.0))} to it"
    told.append(
        f"A run takes {shown_seconds(profile.plain_seconds)} on "
        f"{amount(profile.threads, 'thread')} of this machine (median of "
        f"{amount(profile.runs, 'run')}){'' if profile.is_disturbed else counters}. "
        "Times of Funcs are those of all threads together."
    )
    odd = list(odd_funcs(facts, profile))
    if odd:
        told.append(
            f"Price and time disagree by a factor of {ODD:.0f} or more for {', '.join(odd)}."
        )
    warned = [tag("p", text, class_="note") for text in profile.warnings()]
    return joined(tag("p", " ".join(told)), warned)


_NOT_RUN = "It was not run for this page, so there are no times."

_NO_KERNEL_RAN = (
    "No kernel was run for this page, so there are no times; what kernels move between memories is "
    "counted by the model."
)
