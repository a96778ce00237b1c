"""What a pipeline is made of, seen from its definitions and sizes: names of ``group: name``."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence

from spaces.model.algorithm.func import Definition, Func
from spaces.model.algorithm.image_param import ImageParam
from spaces.model.algorithm.param import ScalarVariable
from spaces.model.algorithm.pipeline import Function, Pipeline
from spaces.model.algorithm.rdom import RVar
from spaces.model.algorithm.reference import Reference
from spaces.model.algorithm.var import is_free_var
from spaces.model.expressions.expr import Cast, Const, Expr, Op, Variable, walk

Ranges = Sequence[tuple[int, int]]

BOUNDARIES = (
    "repeat_edge",
    "constant_exterior",
    "repeat_image",
    "mirror_image",
    "mirror_interior",
)
HUGE = 1 << 20
"""A first coordinate from which on sizes count as huge."""

_PRIMES = (5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47)
_COMMUTATIVE = ("add", "mul", "min", "max", "and", "or", "bit_and", "bit_or", "bit_xor")


def written_constructs(outputs: Iterable[Func]) -> frozenset[str]:
    """Constructs of definitions as they are written: freezing gives coordinates another form."""
    found: set[str] = set()
    seen: dict[int, Func] = {}
    waiting = list(outputs)
    while waiting:
        func = waiting.pop()
        if id(func) in seen:
            continue
        seen[id(func)] = func
        for index, definition in enumerate(func.definitions):
            found.update(_of_definition(func, definition, index))
            for node in walk(*_roots(definition)):
                if isinstance(node, Reference):
                    if isinstance(node.source, Func):
                        waiting.append(node.source)
                    else:
                        found.update(_of_image(node.source))
    return frozenset(found)


def frozen_constructs(pipeline: Pipeline) -> frozenset[str]:
    """Constructs that the graph of Funcs shows."""
    found: set[str] = set()
    for function in pipeline.functions:
        found.update(_of_function(function))
        readers = len(pipeline.consumers(function.name))
        if readers > 1:
            found.add(f"readers: {'2' if readers == 2 else 'more'}")
        if function.name in pipeline.outputs and readers:
            found.add("outputs: one reads another")
        if _unread_components(pipeline, function):
            found.add("values: unread component")
    found.add(f"images: {min(len(pipeline.images), 2)}")
    found.add("estimates: given" if pipeline.estimates else "estimates: none")
    outputs = [pipeline.function(name) for name in pipeline.outputs]
    found.add(f"outputs: {'1' if len(outputs) == 1 else '2' if len(outputs) == 2 else 'more'}")
    if len({len(f.args) for f in outputs}) > 1:
        found.add("outputs: of unlike dimensions")
    return frozenset(found)


def _unread_components(pipeline: Pipeline, function: Function) -> set[int]:
    """The components of a Tuple that no other Func reads, where these read some."""
    name, readers = function.name, map(pipeline.function, pipeline.consumers(function.name))
    calls = (call for reader in readers for stage in reader.stages for call in stage.calls)
    read = {call.component for call in calls if call.target == name}
    if name in pipeline.outputs or len(function.types) < 2 or not read:
        return set()
    return {*range(len(function.types))} - read


def size_constructs(sizes: Mapping[str, Ranges]) -> frozenset[str]:
    """Constructs of the ranges of outputs, each of ``(min, extent)``."""
    found: set[str] = set()
    for ranges in sizes.values():
        for low, extent in ranges:
            if abs(low) >= HUGE:
                found.add("size: huge min")
            elif low < 0:
                found.add("size: negative min")
            if extent in (0, 1):
                found.add(f"size: {extent}")
            elif extent in _PRIMES:
                found.add("size: prime")
    extents = {tuple(extent for _, extent in ranges) for ranges in sizes.values()}
    if len(extents) > 1:
        found.add("outputs: of unequal sizes")
    elements = [math.prod(extent for _, extent in ranges) for ranges in sizes.values()]
    if 0 in elements and any(elements):
        found.add("outputs: empty beside others")
    single = any(math.prod(n for _, n in ranges) == 1 for ranges in sizes.values() if ranges)
    if single and max(elements) > 1:
        found.add("outputs: of one element beside others")
    return frozenset(found)


def _roots(definition: Definition) -> list[Expr]:
    return [*definition.args, *definition.values, *definition.predicates]


def _of_image(image: ImageParam | object) -> Iterator[str]:
    if isinstance(image, ImageParam):
        yield f"image type: {image.type}"
        yield f"image dimensions: {image.dimensions}"


def _of_function(function: Function) -> Iterator[str]:
    yield f"dimensions: {len(function.args)}"
    for type in function.types:
        yield f"type: {type}"
    kind = function.name.rstrip("_0123456789")
    if kind in BOUNDARIES:
        yield f"boundary: {kind}"
    if len(function.types) > 1:
        yield "values: Tuple"
    if len(function.stages) > 2:
        yield "update: several"


def _of_definition(func: Func, definition: Definition, index: int) -> Iterator[str]:
    """Operators of values and of coordinates, forms of coordinates and of updates."""
    for root in (*definition.values, *definition.predicates):
        yield from _in_values(root)
    for node in walk(*_roots(definition)):
        if isinstance(node, Reference):
            for d, arg in enumerate(node.args):
                yield from _in_coordinates(arg)
                own = func.args[d] if d < len(func.args) else ""
                yield from (f"place: {form}" for form in _forms(arg, own))
            yield from (f"place: {form}" for form in _forms_together(node.args))
        if isinstance(node, ScalarVariable):
            yield f"param type: {node.type}"
    if _has_two_taps(definition):
        yield "place: two taps"
    if index:
        yield from (f"update: {form}" for form in _update_forms(func, definition))


def _forms_together(args: Sequence[Expr]) -> Iterator[str]:
    """How two coordinates of a place depend on the same Var."""
    linear = [found[0] for found in map(linear_form, args) if found is not None]
    for (d, one), (e, other) in itertools.permutations(enumerate(linear), 2):
        if len(other) == 1 and other.keys() <= one.keys():
            if len(one) > 1:
                yield "sheared"
            elif d < e:
                yield "diagonal"


def _has_two_taps(definition: Definition) -> bool:
    """Whether it reads a source at two places that are a fixed distance apart."""
    known: set[tuple[object, ...]] = set()
    for node in dict.fromkeys(walk(*definition.values)):
        if not isinstance(node, Reference) or not node.args:
            continue
        forms = [linear_form(arg) for arg in node.args]
        if any(form is None or None in form[0].values() for form in forms):
            continue
        factors = tuple(tuple(sorted(form[0].items())) for form in forms if form is not None)
        if (node.target, node.component, factors) in known:
            return True
        known.add((node.target, node.component, factors))
    return False


def _in_values(root: Expr) -> Iterator[str]:
    """Operators outside of coordinates."""
    stack = [root]
    seen: set[Expr] = set()
    while stack:
        node = stack.pop()
        if node in seen:
            continue
        seen.add(node)
        if isinstance(node, Op):
            yield f"value: {node.name}"
        if isinstance(node, Cast):
            yield "value: cast"
        if isinstance(node, ScalarVariable):
            yield "param: in a value"
        if not isinstance(node, Reference):
            stack.extend(node.children)


def _in_coordinates(arg: Expr) -> Iterator[str]:
    for node in walk(arg):
        if isinstance(node, Op):
            yield f"coordinate: {node.name}"
        if isinstance(node, Cast):
            yield "coordinate: cast"
        if isinstance(node, ScalarVariable):
            yield "param: in a coordinate"


def _forms(arg: Expr, own: str) -> Iterator[str]:
    """How a coordinate depends on Vars and RVars."""
    names = {n.name for n in walk(arg) if is_free_var(n) or isinstance(n, RVar)}
    if any(isinstance(n, Reference) for n in walk(arg)):
        yield "read"
    if any(_are_of_equal_limits(n.args) for n in walk(arg) if isinstance(n, Op)):
        yield "of equal limits"
    if not names:
        yield "fixed"
        return
    if own and own not in names and any(is_free_var(n) for n in walk(arg)):
        yield "transposed"
    if len(names) > 1:
        yield "of several Vars"
    linear = linear_form(arg)
    if linear is None:
        yield "not linear"
        return
    factors, rest = linear
    for factor in factors.values():
        if factor is None:
            yield "by a Param"
        elif factor < 0:
            yield "mirrored" if rest else "negated"
        if factor is not None and abs(factor) in (2, 3):
            yield f"by {abs(factor)}"
        elif factor is not None and abs(factor) > 3:
            yield "by more"
    if rest:
        yield "offset"


def _are_of_equal_limits(operands: Sequence[Expr]) -> bool:
    """Whether two of some operands are values that are read, and clamped to the same limits."""
    limits = [
        (low, high)
        for o in set(operands)
        if any(isinstance(n, Reference) for n in walk(o))
        for low, high in _clamped(o)
    ]
    return len(set(limits)) < len(limits)


def _clamped(value: Expr) -> Iterator[tuple[Expr, Expr]]:
    match value:
        case Op(name="max", args=(Op(name="min", args=(_, Const() as high)), Const() as low)):
            yield low, high


def linear_form(arg: Expr) -> tuple[dict[str, int | None], bool] | None:
    """The factor of each Var, None for a Param, and whether there is more; None if not linear."""
    match arg:
        case Const(value=value):
            return {}, bool(value)
        case Variable() if is_free_var(arg) or isinstance(arg, RVar):
            return {arg.name: 1}, False
        case Variable():
            return {}, True
        case Op(name="add" | "sub" as name, args=(a, b)):
            left, right = linear_form(a), linear_form(b)
            if left is None or right is None:
                return None
            sign = 1 if name == "add" else -1
            total: dict[str, int | None] = dict(left[0])
            for var, factor in right[0].items():
                before = total.get(var, 0)
                unknown = factor is None or before is None
                total[var] = None if unknown else (before or 0) + sign * (factor or 0)
            return total, left[1] or right[1]
        case Op(name="mul", args=(a, b)):
            return _scaled(a, b) or _scaled(b, a)
    return None


def _scaled(by: Expr, what: Expr) -> tuple[dict[str, int | None], bool] | None:
    inner = linear_form(what)
    if inner is None:
        return None
    if isinstance(by, Const):
        factor = int(by.value)
        return {n: None if f is None else f * factor for n, f in inner[0].items()}, inner[1]
    if isinstance(by, ScalarVariable):
        return dict.fromkeys(inner[0]), inner[1]
    return None


def _update_forms(func: Func, definition: Definition) -> Iterator[str]:
    nodes = list(walk(*_roots(definition)))
    rvars = {n.name for n in nodes if isinstance(n, RVar)}
    domain = next((n.domain for n in nodes if isinstance(n, RVar)), None)
    yield f"over {min(len(domain.vars), 3) if domain else 0} RVars"
    if definition.predicates:
        yield "where"
    for arg in definition.args:
        if any(isinstance(n, Reference) for n in walk(arg)):
            yield "scatter"
        linear = linear_form(arg)
        if not any(is_free_var(n) or isinstance(n, RVar) for n in walk(arg)):
            yield "at a fixed place"
        elif linear is None:
            yield "at a place that is not linear"
        elif set(linear[0]) & rvars:
            yield "along RVars"
            if any(factor != 1 for factor in linear[0].values()):
                yield "along scaled RVars"
    own = [n for n in nodes if isinstance(n, Reference) and n.source is func]
    if any(read.args != definition.args for read in own):
        yield "reads other places of its own"
    if not own:
        yield "overwrites"
    for value in definition.values:
        operands = value.args if isinstance(value, Op) and value.name in _COMMUTATIVE else ()
        if any(a in own and a.args == definition.args for a in operands):
            yield f"by {value.name}"
