"""Barriers: all threads of a block reach them together, and they separate accesses that must not
meet.

Take two accesses of memory that the threads of a block share, at least one of them a write. Either
a barrier stands between them, or different threads access different places. Writes of one statement
may meet if they write the same value, as the shifted tiles of a split do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

from attrs import define, field

from spaces.backend.ir.host import THREAD, GpuProgram
from spaces.backend.ir.statements import Allocate, Barrier, For, Store
from spaces.backend.ir.vectors import Load
from spaces.backend.proofs.launches import LaunchSite, launches
from spaces.backend.proofs.meetings import Meeting, is_exact, meetings
from spaces.backend.proofs.places import Places, shapes
from spaces.backend.proofs.sites import StatementSite, sites
from spaces.backend.replay import replay_kernels
from spaces.constraints.obligations.decide import TIMEOUT_MS, Decider
from spaces.constraints.obligations.records import Obligation, Outcome, Proof, Refuted, Unknown
from spaces.constraints.proofs.in_time import proofs_in_time
from spaces.constraints.proofs.prove import SECONDS
from spaces.constraints.reasoning.formulas import (
    FALSE,
    SECOND,
    TRUE,
    Second,
    all_of,
    any_of,
    different,
    equal,
    less,
    negation,
    within,
)
from spaces.constraints.reasoning.opaque import Opaque
from spaces.model.deadline import Deadline
from spaces.model.expressions.expr import Expr, Variable, constant
from spaces.model.expressions.rewrite import variables
from spaces.model.expressions.types import Int32
from spaces.model.nest.loopnest import LoopNest

_ZERO, _ONE = constant(0, Int32), constant(1, Int32)


def barrier_obligations(
    program: GpuProgram, extents: Mapping[str, tuple[Expr, ...]] | None = None
) -> tuple[Obligation, ...]:
    """The conditions on the barriers of a program for every size. For each barrier of a kernel: no
    thread misses it. For each two statements that access memory that a block shares: a barrier
    separates them where they need one.

    Args:
        program: the program with its barriers.
        extents: the extents of the memory that it allocates, from
            :func:`~spaces.backend.proofs.places.shapes`. For a buffer without extents, only flat
            indices are compared.
    """
    return tuple(_obligations(program, lambda: extents or {}))


def _obligations(
    program: GpuProgram, extents: Callable[[], Mapping[str, tuple[Expr, ...]]]
) -> Iterator[Obligation]:
    dimensions = {b.name: b.dimensions for b in program.buffers}
    known = extents()
    for launch in launches(program):
        yield from _Kernel(launch, Places(dimensions, known)).obligations()


def prove_barriers(
    nest: LoopNest, program: GpuProgram, *, timeout_ms: int = TIMEOUT_MS, seconds: float = SECONDS
) -> tuple[Proof, ...]:
    """Proves or refutes every obligation about barriers.

    Args:
        nest: the loop nest of the program.
        program: the program with its barriers.
        timeout_ms: the time limit of the solver for one obligation.
        seconds: the time limit for all obligations; those left then are ``unknown``.
    """
    deadline = Deadline.after(seconds)
    return tuple(barrier_proofs(nest, program, timeout_ms=timeout_ms, deadline=deadline))


def barrier_proofs(
    nest: LoopNest, program: GpuProgram, *, deadline: Deadline, timeout_ms: int = TIMEOUT_MS
) -> Iterator[Proof]:
    """The proofs of :func:`prove_barriers`, one by one."""
    decider = Decider(timeout_ms)

    def outcome(obligation: Obligation) -> Outcome:
        found = decider.decide(obligation)
        if isinstance(found, Refuted) and not obligation.exact:
            return _confirmed(nest, program, found)
        return found

    asked = _obligations(program, lambda: shapes(nest))
    return proofs_in_time(asked, outcome, decider, deadline)


def _confirmed(nest: LoopNest, program: GpuProgram, suspected: Refuted) -> Outcome:
    """The refutation of a sufficient condition, if a run of the kernels confirms it by a fault;
    else unknown.
    """
    found = suspected.counterexample
    run = replay_kernels(nest, program, found.sizes)
    if any(fault.buffer == found.buffer for fault in run.faults):
        return suspected
    return Unknown(
        "A condition that suffices does not hold, but a run of the kernels shows no fault.",
        found.buffer,
    )


@define
class _Kernel:
    """The obligations of one kernel at one launch.

    Formulas name the variables of one thread as the kernel does, and the variables of another
    thread by copies.
    """

    launch: LaunchSite
    places: Places
    _opaque: Opaque = field(factory=Opaque)
    _sites: tuple[StatementSite, ...] = field(init=False)
    _private: frozenset[str] = field(init=False)
    _varying: frozenset[str] = field(init=False)

    def __attrs_post_init__(self) -> None:
        self._sites = sites(self.launch.kernel.body)
        statements = [site.statement for site in self._sites]
        self._private = frozenset(s.buffer for s in statements if isinstance(s, Allocate))
        loops = {s.var.name for s in statements if isinstance(s, For)}
        self._varying = frozenset(loops | {v.name for v in THREAD})

    def obligations(self) -> Iterator[Obligation]:
        """All obligations: first those of the barriers, then those of each written shared
        buffer.
        """
        barriers = [site for site in self._sites if isinstance(site.statement, Barrier)]
        for number, site in enumerate(barriers, 1):
            yield self._converged(site, number)
        written = dict.fromkeys(
            s.statement.buffer for s in self._sites if isinstance(s.statement, Store)
        )
        for buffer in written:
            if buffer not in self._private:
                yield from self._about(buffer)

    def _converged(self, barrier: StatementSite, number: int) -> Obligation:
        """All threads of a block reach a barrier equally often."""
        formula = self._opaque.formula
        bounds = [formula(e) for loop in barrier.loops for e in (loop.min, loop.extent)]
        conditions = [formula(c) for c, _ in barrier.conditions]
        rounds = [r for loop in barrier.loops for r in self._rounds(loop)]
        # All threads run the same rounds of the loops around: this obligation also proves that the
        # bounds are equal.
        other = Second(v.name for v in THREAD)
        goal = all_of(
            (
                *(equal(bound, other(bound)) for bound in bounds),
                *(_both_or_neither(c, other(c)) for c in conditions),
            )
        )
        name = self.launch.kernel.name
        statement = f"All threads of a block of {name} reach its barrier {number} together."
        known = (*self._threads(), *map(other, self._threads()), *rounds)
        return self._obligation(name, statement, known, goal, (), second=other, exact=True)

    def _about(self, buffer: str) -> Iterator[Obligation]:
        """The obligations of each two statements that access ``buffer``, in the order of the
        text.
        """
        accessing = [s for s in self._sites if _written(s, buffer) or _read(s, buffer)]
        for number, first in enumerate(accessing):
            for second in accessing[number:]:
                writes = [(a, b) for a in _written(first, buffer) for b in _written(second, buffer)]
                if writes:
                    yield self._writes_apart(buffer, first, second, writes)
                mixed = [(a, b) for a in _written(first, buffer) for b in _read(second, buffer)]
                if first is not second:
                    mixed += [
                        (a, b) for a in _read(first, buffer) for b in _written(second, buffer)
                    ]
                if mixed:
                    reader = second if _read(second, buffer) else first
                    statement = (
                        f"A barrier stands between threads that write a place of {buffer} and "
                        f"others that read it for {_purpose(reader)}."
                    )
                    yield self._apart(buffer, first, second, mixed, statement)

    def _writes_apart(
        self,
        buffer: str,
        first: StatementSite,
        second: StatementSite,
        pairs: list[tuple[Expr, Expr]],
    ) -> Obligation:
        statement = f"Threads that write {buffer} between two barriers write different places"
        if first is second and isinstance(first.statement, Store):
            leaves = self._leaves(first.statement.value)
            if leaves is not None:
                return self._apart(
                    buffer, first, second, pairs, f"{statement}, or the same value.", leaves
                )
        return self._apart(buffer, first, second, pairs, f"{statement}.")

    def _apart(
        self,
        buffer: str,
        first: StatementSite,
        second: StatementSite,
        pairs: list[tuple[Expr, Expr]],
        statement: str,
        leaves: tuple[Expr, ...] | None = None,
    ) -> Obligation:
        """Different threads access different places between two barriers; or, with ``leaves``, the
        leaves are equal for both threads.
        """
        place = self._opaque.place
        one, two = self._running(first), self._running(second)
        other = Second(self._varying)
        ways = [_relation(meeting, other) for meeting in meetings(first, second)]
        same = FALSE if leaves is None else all_of(equal(leaf, other(leaf)) for leaf in leaves)
        goal = all_of(self.places.apart(buffer, place(a), other(place(b)), same) for a, b in pairs)
        apart = any_of(
            different(v, other(v))
            for v, threads in zip(THREAD, self.launch.kernel.block, strict=True)
            if threads > 1
        )
        return self._obligation(
            buffer,
            statement,
            (*one, *map(other, two), apart, any_of(ways)) if ways else (),
            goal if ways else TRUE,
            self.places.of(buffer, place(pairs[0][0])),
            second=other,
            exact=leaves is None
            and is_exact(self.launch.kernel.body)
            and not self.places.is_symbolic(buffer),
        )

    def _running(self, site: StatementSite) -> tuple[Expr, ...]:
        """The conditions that hold for a thread that runs a statement."""
        rounds = [r for loop in site.loops for r in self._rounds(loop)]
        conditions = [(self._opaque.formula(c), holds) for c, holds in site.conditions]
        known = (c if holds else negation(c) for c, holds in conditions)
        return (*self._threads(), *rounds, *known)

    def _threads(self) -> tuple[Expr, ...]:
        sizes = zip(THREAD, self.launch.kernel.block, strict=True)
        limits = (within(v, _ZERO, constant(size - 1, Int32)) for v, size in sizes)
        return tuple(limit for both in limits for limit in both)

    def _rounds(self, loop: For) -> tuple[Expr, ...]:
        low, extent = self._opaque.formula(loop.min), self._opaque.formula(loop.extent)
        return within(loop.var, low, low + extent - 1)

    def _leaves(self, value: Expr) -> tuple[Expr, ...] | None:
        """The parts of a value that must be equal for two threads to compute the same value:
        variables, and indices of reads. None if it reads private memory of a thread.
        """
        leaves: dict[Expr, None] = {}
        stack, seen = [value], set[Expr]()
        while stack:
            node = stack.pop()
            if node in seen:
                continue
            seen.add(node)
            if isinstance(node, Load):
                if node.buffer in self._private:
                    return None
                leaves[self._opaque.place(node.index)] = None
            elif isinstance(node, Variable):
                if node.name in self._varying:
                    leaves[node] = None
            else:
                stack.extend(node.children)
        return tuple(leaves)

    def _obligation(
        self,
        buffer: str,
        statement: str,
        hypotheses: Iterable[Expr],
        goal: Expr,
        coordinate: tuple[Expr, ...],
        *,
        second: Second,
        exact: bool,
    ) -> Obligation:
        given = (*self.launch.known, *hypotheses) if goal is not TRUE else ()
        given += self._opaque.known(variables(*given, goal, *coordinate), second)
        names = variables(*given, goal, *coordinate)
        bare = {name: name.removesuffix(SECOND) for name in names}
        meaning = self._opaque.meaning
        iteration = {*self._varying, *self.launch.uniform}
        return Obligation(
            kind="barrier",
            func=buffer,
            stage=0,
            statement=statement,
            hypotheses=given,
            goal=goal,
            buffer=buffer,
            coordinate=coordinate,
            sizes=tuple(n for n in names if bare[n] not in iteration and bare[n] not in meaning),
            iteration=tuple(n for n in names if n in iteration),
            other=tuple((n, bare[n]) for n in names if n != bare[n] and bare[n] in iteration),
            opaque=tuple((n, meaning[bare[n]]) for n in names if bare[n] in meaning),
            exact=exact,
        )


def _written(site: StatementSite, buffer: str) -> tuple[Expr, ...]:
    """The indices at which a statement writes a buffer."""
    store = site.statement
    return (store.index,) if isinstance(store, Store) and store.buffer == buffer else ()


def _read(site: StatementSite, buffer: str) -> tuple[Expr, ...]:
    """The indices at which a statement reads a buffer."""
    return tuple(load.index for load in site.reads if load.buffer == buffer)


def _purpose(reader: StatementSite) -> str:
    """The purpose of a statement's reads, in words."""
    match reader.statement:
        case Store(buffer=name):
            return name
        case For(var=var):
            return f"the bounds of {var.name}"
    return "a condition"


def _relation(meeting: Meeting, other: Second) -> Expr:
    """The rounds in which two accesses meet, as a formula: the first access has plain names, the
    second copies.
    """
    same = [equal(loop.var, other(loop.var)) for loop in meeting.same]
    if meeting.carried is None:
        return all_of(same)
    ends = (meeting.carried.var, other(meeting.carried.var))
    earlier, later = ends if meeting.first_is_earlier else ends[::-1]
    following = equal(later, earlier + 1) if meeting.next_only else less(earlier, later)
    return all_of((*same, following))


def _both_or_neither(a: Expr, b: Expr) -> Expr:
    """Both conditions hold or neither does; literally true for the same condition."""
    if a is b:
        return TRUE
    return any_of((all_of((a, b)), all_of((negation(a), negation(b)))))
