"""Pipelines composed of constructs: any operator, type, coordinate, update and number of outputs.

Nothing here is a family of pipelines: each Func draws its dimensions, its type, what it reads and
where, and its updates. What is aimed at is drawn more often than chance has it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from attrs import define, field

from spaces import Bool, Expr, Func, ImageParam, Int32, Param, RDom, Type, Var, cast
from spaces.model.algorithm import boundary
from spaces.model.algorithm.func import FuncRef
from spaces.model.expressions import functions as fn
from spaces.model.expressions.expr import as_expr
from tests.differential.constructs import BOUNDARIES
from tests.differential.coordinates import Coordinates
from tests.differential.dice import Dice
from tests.differential.operations import OPERATIONS, TYPES, applied

VARS = tuple(map(Var, ("x", "y", "z", "w", "v")))
_DIMENSIONS = ("2", "2", "2", "1", "1", "3", "0", "4", "5")
_IMAGES = ("1", "1", "1", "2", "0")
_OUTPUTS = ("1", "1", "1", "2", "more")
_BY_NAME = {str(type): type for type in TYPES}
_TYPES = tuple(_BY_NAME)

_APART = frozenset(("directive: compute_with", "directive: clone_in"))
"""Of schedules, what needs two Funcs that do not read each other."""

_PRODUCED = frozenset(
    ("directive: clone_in", "directive: fold_storage", "directive: fold_storage backward",
     "level: hoisted storage", "level: stored outside", "level: at a loop")
)  # fmt: skip
"""Of schedules, what needs a Func that another one reads."""

UPDATES = (
    "by add",
    "by mul",
    "by min",
    "by max",
    "by bit_or",
    "in order",
    "at a point",
    "overwrites",
    "where",
    "scan",
    "scan of two",
    "along scaled RVars",
    "shifted",
    "mirrored",
    "scatter",
    "at a fixed place",
    "at a place that is not linear",
    "along RVars",
    "over 3 RVars",
)


def composed(dice: Dice) -> tuple[Func, ...]:
    """The outputs of a pipeline."""
    return _Composer(dice).outputs()


@define
class _Composer:
    """``sources`` are images and Funcs so far, with how many dimensions each has; ``alive`` has the
    one component that is read of some Tuples.
    """

    dice: Dice
    sources: list[tuple[Any, int]] = field(factory=list)
    params: list[Param] = field(factory=list)
    extra: list[Param] = field(factory=list)
    alive: dict[str, int] = field(factory=dict)
    domains: int = 0

    def outputs(self) -> tuple[Func, ...]:
        rng, dice = self.dice.rng, self.dice
        self._params()
        self._images()
        count = rng.choice((1, 2, 2, 3, 3))
        wanted = {"1": 1, "2": 2, "more": 3}[dice.pick("outputs", _OUTPUTS)]
        unlike = dice.takes("outputs: of unlike dimensions", 0.5)
        apart = bool(dice.aimed("aligned") or dice.aims & _APART)
        produced = bool(dice.aimed("memory") or dice.aims & _PRODUCED)
        if apart:
            wanted, unlike = max(2, wanted), False
        least = 5 if "readers: more" in dice.aims else wanted + produced
        count = max(count, least)
        funcs: list[Func] = []
        for number in range(count):
            same = len(funcs[-1].args) if funcs and not unlike else None
            is_output, before = number >= count - wanted, list(self.sources)
            if is_output and produced and funcs:
                self.sources = self.sources[-1:]
            kept = list(self.sources)
            funcs.append(self._func(f"f{number}", same, is_output))
            if is_output and apart:
                self.sources = kept
            elif is_output:
                self.sources = [*before, self.sources[-1]]
        used = funcs[-wanted:]
        return tuple(used)

    def _params(self) -> None:
        dice = self.dice
        if dice.takes("param: in a coordinate", 0.3) or dice.takes("place: by a Param", 0):
            for name in ("p", "q")[: dice.rng.randint(1, 2)]:
                self.params.append(Param(Int32, name, default=dice.rng.randint(1, 3)))
        if dice.takes("param: in a value", 0.2) or dice.aimed("param type"):
            for number, name in enumerate(dice.several("param type", _TYPES[1:])):
                type, default = _BY_NAME[name], dice.rng.randint(1, 5)
                self.extra.append(
                    Param(
                        type, f"gain{number}", default=float(default) if type.is_float else default
                    )
                )

    def _images(self) -> None:
        dice = self.dice
        types, ranks = (
            dice.several("image type", _TYPES),
            dice.several("image dimensions", _DIMENSIONS),
        )
        beyond = dice.several("boundary", BOUNDARIES)
        aimed = max(len(names) for names in (types, ranks, beyond))
        count = 2 if aimed > 1 else int(dice.pick("images", _IMAGES))
        for number in range(count):
            type = _BY_NAME[types[number] if number < len(types) else dice.rng.choice(_TYPES)]
            more = number < len(ranks)
            dimensions = int(ranks[number] if more else dice.pick("image dimensions", _DIMENSIONS))
            image = ImageParam(type, dimensions, ("input", "other")[number])
            source: Any = image
            if dimensions and (dice.aimed("boundary") or dice.rng.random() < 0.15):
                source = self._beyond(image, beyond[number % len(beyond)])
            self.sources.append((source, dimensions))

    def _beyond(self, image: ImageParam, kind: str) -> Func:
        if kind == "constant_exterior":
            return boundary.constant_exterior(image, 1)
        made: Func = getattr(boundary, kind)(image)
        return made

    def _func(self, name: str, dimensions: int | None, is_output: bool) -> Func:
        dice = self.dice
        count = int(dice.pick("dimensions", _DIMENSIONS)) if dimensions is None else dimensions
        vars, func = VARS[:count], Func(name)
        unread = not is_output and dice.takes("values: unread component", 0.02)
        parts = 2 if unread or dice.takes("values: Tuple", 0.08) else 1
        if unread:
            self.alive[name] = dice.rng.randrange(parts)
        values = _Values(self, vars, list(self.sources))
        types = [_BY_NAME[dice.pick("type", _TYPES)] for _ in range(parts)]
        func[vars] = tuple(values.of(type) for type in types)
        if dice.aimed("update") or dice.rng.random() < 0.4:
            for _ in range(2 if dice.takes("update: several", 0.2) else 1):
                self._update(func, vars, types, is_output)
        self.sources.append((func, count))
        return func

    def _update_form(self, forms: Sequence[str]) -> str:
        aimed = [f for name in self.dice.aimed("update") for f in _FORMS_OF.get(name, ())]
        fitting = [form for form in aimed if form in forms]
        if fitting and self.dice.rng.random() < 0.6:
            return self.dice.rng.choice(fitting)
        return self.dice.pick("update", forms)

    def domain(self, ranges: Sequence[tuple[Any, Any]]) -> RDom:
        self.domains += 1
        return RDom(list(ranges), f"r{self.domains}")

    def _update(
        self, func: Func, vars: tuple[Expr, ...], types: list[Type], is_output: bool
    ) -> None:
        """An update; one that writes at places of its own rarely fits the sizes of an output."""
        form = self._update_form(UPDATES)
        if is_output and self.dice.rng.random() < 0.85:
            form = form if form in _EVERYWHERE else self._update_form(_EVERYWHERE)
        made = _Update(self, func, vars, types)
        made.draw(form)


@define
class _Values:
    """Draws values over the Vars and RVars of a definition, from what may be read there."""

    composer: _Composer
    vars: tuple[Expr, ...]
    sources: list[tuple[Any, int]]
    left: int = 7

    @property
    def dice(self) -> Dice:
        return self.composer.dice

    def of(self, type: Type) -> Expr:
        """A value of a type, of several operators."""
        rng = self.dice.rng
        aimed = self.dice.aimed("value")
        names = list(aimed)
        names += [rng.choice(_NAMES) for _ in range(rng.choice((0, 1, 1, 2, 3)))]
        rng.shuffle(names)
        total = self._read_as(type)
        self.left = 7
        for name in names:
            term = self._applied(name, type)
            total = _joined(rng, total, term)
        return total

    def _applied(self, name: str, type: Type) -> Expr:
        rng = self.dice.rng
        wanted = type if rng.random() < 0.5 else None
        return _as(type, applied(rng, name, wanted, self.operand))

    def operand(self, type: Type) -> Expr:
        """A leaf, or an operator in it."""
        rng = self.dice.rng
        self.left -= 1
        if self.left > 0 and rng.random() < 0.15:
            return self._applied(rng.choice(_NAMES), type)
        return self._read_as(type)

    def _read_as(self, type: Type) -> Expr:
        rng = self.dice.rng
        params = self.composer.extra
        if params and rng.random() < (0.5 if len(params) > 1 else 0.3):
            return _as(type, as_expr(rng.choice(params)))
        if (self.vars and rng.random() < 0.15) or not self.sources:
            leaf = rng.choice(self.vars) if self.vars else as_expr(rng.randint(-5, 9))
            return _as(type, leaf + rng.randint(-2, 5))
        return _as(type, self.read())

    def read(self) -> Expr:
        """What is read of some source at a place that is drawn."""
        source, dimensions = self.dice.rng.choice(self.sources[-3:])
        small = self._small if self.sources else None
        where = Coordinates(self.dice, self.composer.params, small)
        place = where.place(self.vars, dimensions)
        first = self._component(source[place or ()])
        if not place or first.type == Bool or not self.dice.takes("place: two taps", 0.2):
            return first
        return first + self._component(source[where.beside(place)])

    def _component(self, read: Any) -> Expr:
        """One value of what is read of a Func, which may be a Tuple, or of an image."""
        parts = len(read.func.types) if isinstance(read, FuncRef) else 1
        if parts == 1:
            return as_expr(read)
        rng, alive = self.dice.rng, self.composer.alive
        return as_expr(read[alive.get(read.func.name, rng.randrange(parts))])

    def _small(self) -> Expr:
        """An int32 number, read at a plain place."""
        if not self.sources:
            return self.dice.rng.choice(self.vars) if self.vars else as_expr(2)
        source, dimensions = self.dice.rng.choice(self.sources)
        plain = Coordinates(self.dice, self.composer.params)
        where = tuple(plain._form("plain", v, self.vars) for v in self.vars[:dimensions])
        where += tuple(as_expr(1) for _ in range(dimensions - len(where)))
        return _as(Int32, self._component(source[where]))


@define
class _Update:
    """Draws an update of a Func."""

    composer: _Composer
    func: Func
    vars: tuple[Expr, ...]
    types: list[Type]

    def draw(self, form: str) -> None:
        """Define an update of a form, or a sum where the Func has too few dimensions for it."""
        rng = self.composer.dice.rng
        low, extent = rng.randint(-1, 2), rng.choice((1, 2, 3, 4))
        r = self.composer.domain([(low, extent), *([(0, rng.choice((1, 2)))] * rng.randint(0, 1))])
        if not self.vars and form not in _EVERYWHERE:
            form = "by add"
        rest = self.vars[1:]
        match form:
            case "by add" | "by mul" | "by min" | "by max" | "by bit_or":
                self._accumulate(form.removeprefix("by "), r)
            case "over 3 RVars":
                self._accumulate("add", self.composer.domain([(0, 2), (low, 2), (0, extent)]))
            case "where":
                r.where(self._test(r))
                self._accumulate(rng.choice(("add", "max")), r)
            case "in order":
                self._define(self.vars, lambda own, new: own * 2 + new, (*self.vars, *r))
            case "at a point":
                self._define(self.vars, lambda own, new: own * 3 + new, self.vars)
            case "overwrites":
                self._define(self.vars, lambda own, new: new, self.vars)
            case "scan":
                self._moved(r, lambda i: i, rest, lambda i: i - 1)
            case "scan of two":
                self._scan_of_two(rng.choice((2, 3, 4)))
            case "along scaled RVars":
                self._moved(r, lambda i: i * 2, rest, lambda i: i * 2 + 1)
            case "shifted":
                far = rng.choice((extent, extent + 3, 1, -extent))
                self._moved(r, lambda i: i, rest, lambda i: i + far)
            case "mirrored":
                self._moved(r, lambda i: i, rest, lambda i: low * 2 + 2 * extent - 1 - i)
            case "scatter":
                place = fn.clamp(self._values((*rest, *r))._small(), 0, rng.randint(2, 6))
                self._define((place, *rest), lambda own, new: own + new, (*rest, *r))
            case "at a fixed place":
                place = as_expr(rng.randint(0, 3))
                self._define((place, *rest), lambda own, new: own * 2 + new, (*rest, *r))
            case "at a place that is not linear":
                place = rng.choice((r.x * r.x, r.x * 3 % 5, r.x / 2, fn.abs(r.x - 2)))
                self._define((cast(Int32, place), *rest), lambda own, new: own + new, (*rest, *r))
            case "along RVars":
                places = tuple(r)[: len(self.vars)]
                last = self.vars[len(places) :]
                self._define((*places, *last), lambda own, new: own + new, (*r, *last))

    def _values(self, vars: tuple[Expr, ...]) -> _Values:
        return _Values(self.composer, vars, list(self.composer.sources), left=3)

    def _test(self, r: RDom) -> Expr:
        rng = self.composer.dice.rng
        every = (*self.vars, *r)
        tests: tuple[Callable[[], Expr], ...] = (
            lambda: r.x % 2 == 0,
            lambda: rng.choice(every) + r.x <= rng.randint(0, 6),
            lambda: self._values(every)._small() > rng.randint(-5, 20),
            lambda: rng.choice(every) % 3 != 1,
        )
        return rng.choice(tests)()

    def _new(self, vars: tuple[Expr, ...]) -> list[Expr]:
        values = self._values(vars)
        rng = self.composer.dice.rng
        found = []
        for type in self.types:
            value = values._read_as(type)
            if rng.random() < 0.4:
                value = _joined(rng, value, values._applied(rng.choice(_NAMES), type))
            found.append(value)
        return found

    def _own(self, place: tuple[Expr, ...]) -> list[Expr]:
        read: Any = self.func[place or ()]
        return [read[i] for i in range(len(self.types))] if len(self.types) > 1 else [as_expr(read)]

    def _define(
        self,
        place: tuple[Expr, ...],
        joined: Callable[[Expr, Expr], Expr],
        vars: tuple[Expr, ...],
        reads: tuple[Expr, ...] | None = None,
    ) -> None:
        own = self._own(place if reads is None else reads)
        values = tuple(
            _calculated(joined, before, new)
            for before, new in zip(own, self._new(vars), strict=True)
        )
        self.func[place or ()] = values

    def _accumulate(self, name: str, r: RDom) -> None:
        made = OPERATIONS[name]

        def joined(own: Expr, new: Expr) -> Expr:
            operands = iter((own, new))
            if own.type not in made.types:
                return fn.max(own, new)
            return made.made(self.composer.dice.rng, own.type, lambda type: next(operands))

        self._define(self.vars, joined, (*self.vars, *r))

    def _moved(
        self,
        r: RDom,
        place: Callable[[Expr], Expr],
        rest: tuple[Expr, ...],
        source: Callable[[Expr], Expr],
    ) -> None:
        at, read = (place(r.x), *rest), (source(r.x), *rest)
        self._define(at, lambda own, new: own + new, (*rest, *r), read)

    def _scan_of_two(self, extent: int) -> None:
        """Each element from those before it along two dimensions."""
        if len(self.vars) < 2:
            self._moved(self.composer.domain([(1, extent)]), lambda i: i, (), lambda i: i - 1)
            return
        r, rest = self.composer.domain([(1, extent), (1, 3)]), self.vars[2:]
        left, above = self._own((r.x - 1, r.y, *rest)), self._own((r.x, r.y - 1, *rest))
        self.func[(r.x, r.y, *rest)] = tuple(
            _calculated(lambda a, b: a + b, a, b) for a, b in zip(left, above, strict=True)
        )


_EVERYWHERE = ("by add", "by mul", "by min", "by max", "by bit_or", "where", "in order",
                 "at a point", "overwrites", "over 3 RVars")  # fmt: skip
_NAMES = tuple(OPERATIONS)
_FORMS_OF = {
    "reads other places of its own": ("scan", "scan of two", "shifted", "mirrored"),
    "over 0 RVars": ("at a point", "overwrites"),
    "over 1 RVars": ("by add", "scan", "shifted", "mirrored", "in order"),
    "over 2 RVars": ("by add", "in order", "scan of two", "along RVars"),
}
"""The forms of updates that are drawn for constructs that no form is named after."""


def _as(type: Type, value: Expr) -> Expr:
    """A value converted to a type; bits of odd numbers are true."""
    return cast(type, value)


def _calculated(joined: Callable[[Expr, Expr], Expr], own: Expr, new: Expr) -> Expr:
    """``joined``, or, of conditions, which have no arithmetic, whether they differ."""
    if own.type == Bool:
        return own != new
    return joined(own, new)


def _joined(rng: Any, total: Expr, term: Expr) -> Expr:
    if total.type == Bool:
        return rng.choice((total != term, total & term, total | term))
    return rng.choice((total + term, total - term, total + term))
