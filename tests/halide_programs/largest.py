"""Files of as many parts as one may have, each of another shape; some are legal, some hostile."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise

from attrs import evolve, fields, has

from spaces.backend.halide.file import contents as file
from spaces.backend.halide.file import nodes
from spaces.backend.halide.file.decoding import MOST_TABLES
from spaces.backend.halide.file.flat_buffer import MOST_CHARACTERS

INT32 = nodes.TypeTable("Int", 32, 1)

ROOT = file.LoopLevelTable("", 0, "__root", False, True)
INLINE = file.LoopLevelTable("", 0, "", False, True)


def int32() -> nodes.TypeTable:
    """A type of its own, as each table of a file has one holder."""
    return evolve(INT32)


def number(value: int) -> nodes.IntImmNode:
    return nodes.IntImmNode(value, int32())


def variable(name: str) -> nodes.VariableNode:
    return nodes.VariableNode(name, int32(), "", "", None)


def total(values: Sequence[nodes.HalideNode]) -> nodes.HalideNode:
    """Their sum as a balanced tree."""
    while len(values) > 1:
        pairs = [nodes.AddNode(*values[n : n + 2]) for n in range(0, len(values) - 1, 2)]
        values = [*pairs, *values[2 * len(pairs) :]]
    return values[0]


def loop(var: str, kind: str = "PureVar", runs: str = "Serial") -> file.DimTable:
    return file.DimTable(var, runs, "None", kind, "Auto")


def order(
    dims: Sequence[file.DimTable],
    rvars: Sequence[file.ReductionVariableTable] = (),
    splits: Sequence[file.SplitTable] = (),
    prefetches: Sequence[file.PrefetchDirectiveTable] = (),
) -> file.StageScheduleTable:
    loops = (*dims, loop("__outermost"))
    return file.StageScheduleTable(
        tuple(rvars), tuple(splits), loops, tuple(prefetches), None, (), False, False, False, False
    )


def definition(
    args: Sequence[str],
    values: Sequence[nodes.HalideNode],
    schedule: file.StageScheduleTable | None = None,
    specializations: Sequence[file.SpecializationTable] = (),
    at: Sequence[nodes.HalideNode] | None = None,
) -> file.DefinitionTable:
    return file.DefinitionTable(
        at is None,
        nodes.UIntImmNode(1, nodes.TypeTable("UInt", 1, 1)),
        tuple(values),
        tuple(map(variable, args)) if at is None else tuple(at),
        schedule or order([loop(one) for one in args]),
        tuple(specializations),
        "",
    )


def func(
    name: str,
    args: Sequence[str],
    values: Sequence[nodes.HalideNode],
    updates: Sequence[file.DefinitionTable] = (),
    init: file.DefinitionTable | None = None,
    wrappers: Sequence[file.WrapperRefTable] = (),
    buffers: Sequence[str] | None = None,
    compute: file.LoopLevelTable = INLINE,
) -> file.FuncTable:
    schedule = file.FuncScheduleTable(
        evolve(compute), evolve(compute), evolve(INLINE),
        tuple(file.StorageDimTable(one, None, None, None, True) for one in args),
        (), (), tuple(wrappers), "Auto", False, False, None, None,
    )  # fmt: skip
    return file.FuncTable(
        name, name, tuple(int32() for _ in values), (), -1, tuple(args), schedule,
        init or definition(args, values), tuple(updates), "",
        (name,) if buffers is None else tuple(buffers), (), "", "Default", "None", None,
        False, False, False, (), False, True,
    )  # fmt: skip


def opaque(name: str, symbol: str, reads: int) -> file.FuncTable:
    """A Func that foreign code computes from that at a place."""
    argument = file.ExternFuncArgumentTable("Func", reads, "", None, "")
    made = func(name, ["x"], [number(0)], init=definition(["x"], []))
    return evolve(made, extern_function_name=symbol, extern_arguments=(argument,))


def call(name: str, place: int, args: Sequence[nodes.HalideNode]) -> nodes.CallNode:
    return nodes.CallNode(name, tuple(args), "Halide", place, 0, "", "", int32())


def contents(
    funcs: Sequence[file.FuncTable],
    outputs: Sequence[str] = ("out",),
    requirements: Sequence[nodes.AssertNode] = (),
    externals: Sequence[file.ExternalParameterTable] = (),
    buffers: Sequence[file.BufferTable] = (),
) -> file.Contents:
    names = tuple(one.name for one in funcs)
    return file.Contents(
        tuple(funcs), tuple(outputs), tuple(requirements), names, (), tuple(externals),
        tuple(buffers), "21.0.0", "18.0.1",
    )  # fmt: skip


def nested(levels: int) -> file.Contents:
    """A sum in a sum in a sum."""
    value: nodes.HalideNode = variable("x")
    for place in range(levels):
        value = nodes.AddNode(value, number(place))
    return contents([func("out", ["x"], [value])])


def conversions(levels: int) -> file.Contents:
    """Conversions in conversions. No conversion changes a value."""
    value: nodes.HalideNode = variable("x")
    for place in range(levels):
        value = nodes.CastNode(value, nodes.TypeTable("Int", 64 if place % 2 else 32, 1))
    return contents([func("out", ["x"], [value])])


def wide(count: int) -> file.Contents:
    """A balanced sum of different numbers."""
    return contents([func("out", ["x"], [total([variable("x"), *map(number, range(count))])])])


def doubled(name: str, lets: int, start: nodes.HalideNode) -> nodes.HalideNode:
    """2 ** lets times a value, each let twice that of the one before."""
    value: nodes.HalideNode = variable(f"{name}{lets - 1}")
    for place in reversed(range(lets)):
        before = (
            (variable(f"{name}{place - 1}") for _ in range(2)) if place else (start, variable("x"))
        )
        value = nodes.LetNode(f"{name}{place}", nodes.MulNode(*before), value)
    return value


def shared(lets: int) -> file.Contents:
    """Two values that are alike, of so many products of a value with itself."""
    values = [doubled(name, lets, variable("x")) for name in "ab"]
    return contents([func("out", ["x"], [nodes.SubNode(*values)])])


def chain(count: int) -> file.Contents:
    """Funcs, each of which reads the one before."""
    funcs = [func("f0", ["x"], [variable("x")])]
    for place in range(1, count):
        name = "out" if place == count - 1 else f"f{place}"
        value = nodes.AddNode(call(f"f{place - 1}", place - 1, [variable("x")]), number(1))
        funcs.append(func(name, ["x"], [value]))
    return contents(funcs)


def rooted(count: int) -> file.Contents:
    """The same, each computed at root."""
    made = chain(count)
    at_root = [
        evolve(one, func_schedule=evolve(one.func_schedule, compute_level=ROOT, store_level=ROOT))
        for one in made.funcs
    ]
    return evolve(made, funcs=tuple(at_root))


def fan(count: int) -> file.Contents:
    """An output that reads many Funcs."""
    funcs = [func(f"f{place}", ["x"], [variable("x")]) for place in range(count)]
    reads = [call(f"f{place}", place, [variable("x")]) for place in range(count)]
    return contents([*funcs, func("out", ["x"], [total(reads)])])


def outputs(count: int) -> file.Contents:
    """Many outputs."""
    funcs = [func(f"f{place}", ["x"], [variable("x")]) for place in range(count)]
    return contents(funcs, [one.name for one in funcs])


def updates(count: int) -> file.Contents:
    """A Func with many updates."""
    made = [
        definition(
            ["x"],
            [nodes.AddNode(call("out", 0, [variable("x")]), number(place))],
            at=[variable("x")],
        )
        for place in range(count)
    ]
    return contents([func("out", ["x"], [variable("x")], made)])


def reductions(funcs: int, updates: int) -> file.Contents:
    """Funcs with many updates, each over a domain of two dimensions and of its own name."""

    def update(name: str, place: int, number_: int) -> file.DefinitionTable:
        rvars = [f"r{number_}${d}" for d in "xy"]
        domain = [file.ReductionVariableTable(one, number(0), number(8)) for one in rvars]
        read = call(name, place, [variable("x")])
        value = nodes.AddNode(read, nodes.MulNode(*map(variable, rvars)))
        loops = [*(loop(one, "ImpureRVar") for one in rvars), loop("x")]
        return definition(["x"], [value], order(loops, domain), at=[variable("x")])

    made = []
    for place in range(funcs):
        name = "out" if place == funcs - 1 else f"f{place}"
        value = call(f"f{place - 1}", place - 1, [variable("x")]) if place else variable("x")
        made.append(func(name, ["x"], [value], [update(name, place, n) for n in range(updates)]))
    return contents(made)


def dimensions(count: int) -> file.Contents:
    """A Func of many dimensions."""
    args = [f"x{place}" for place in range(count)]
    return contents([func("out", args, [variable("x0")])])


def unread_dimensions(count: int) -> file.Contents:
    """The same; no table says anything of them."""
    args = tuple(f"x{place}" for place in range(count))
    return contents([evolve(func("out", ["x0"], [variable("x0")]), args=args)])


def values(count: int) -> file.Contents:
    """A Func of many values."""
    names = [f"out.{place}" for place in range(count)]
    return contents([func("out", ["x"], [number(p) for p in range(count)], buffers=names)])


def images(count: int, dimensions: int = 2) -> file.Contents:
    """Many images that nothing reads."""
    given = [
        file.ExternalParameterTable(True, int32(), dimensions, f"in{place}")
        for place in range(count)
    ]
    return contents([func("out", ["x"], [variable("x")])], externals=given)


def params(count: int) -> file.Contents:
    """A sum of many Params."""
    given = [file.ExternalParameterTable(False, int32(), 0, f"p{place}") for place in range(count)]
    reads = [nodes.VariableNode(one.name, int32(), one.name, "", None) for one in given]
    return contents([func("out", ["x"], [total(reads)])], externals=given)


def requirements(count: int) -> file.Contents:
    """Many requirements."""
    made = []
    for place in range(count):
        words = nodes.CallNode(
            "stringify", (nodes.StringImmNode(f"{place}"),), "PureIntrinsic", -1, 0, "", "",
            nodes.TypeTable("Handle", 64, 1),
        )  # fmt: skip
        message = nodes.CallNode(
            "requirement_failed",
            (nodes.StringImmNode("c"), words),
            "Extern",
            -1,
            0,
            "",
            "",
            int32(),
        )
        size = nodes.VariableNode("p", int32(), "p", "", None)
        made.append(nodes.AssertNode(nodes.LTNode(size, number(place)), message))
    given = [file.ExternalParameterTable(False, int32(), 0, "p")]
    return contents([func("out", ["x"], [variable("x")])], requirements=made, externals=given)


def foreign(count: int) -> file.Contents:
    """Funcs of foreign code, each of which reads the next one."""
    made = [opaque("out" if not n else f"e{n}", "code", n + 1) for n in range(count)]
    return contents([*made, func("last", ["x"], [variable("x")])])


def wrappers(count: int) -> file.Contents:
    """Wrappers of one Func, each for another reader."""
    base = func("base", ["x"], [variable("x")])
    refs = [file.WrapperRefTable(f"f{place}", 1 + place) for place in range(count)]
    wraps = [func(f"w{place}", ["x"], [call("base", 0, [variable("x")])]) for place in range(count)]
    readers = [
        func(f"f{place}", ["x"], [call("base", 0, [variable("x")])]) for place in range(count)
    ]
    reads = [call(f"f{n}", 1 + count + n, [variable("x")]) for n in range(count)]
    base = evolve(base, func_schedule=evolve(base.func_schedule, wrappers=tuple(refs)))
    return contents([base, *wraps, *readers, func("out", ["x"], [total(reads)])])


def wrapped(count: int) -> file.Contents:
    """Wrappers of wrappers, each for all readers."""
    made = [func("base", ["x"], [variable("x")])]
    made += [func(f"w{n}", ["x"], [call("b", n, [variable("x")])]) for n in range(count)]
    linked = [
        evolve(
            one,
            func_schedule=evolve(
                one.func_schedule, wrappers=(file.WrapperRefTable("", place + 1),)
            ),
        )
        for place, one in enumerate(made[:-1])
    ]
    return contents([*linked, made[-1], func("out", ["x"], [call("base", 0, [variable("x")])])])


def splits(stages: int, count: int, kind: str = "SplitVar") -> file.Contents:
    """Updates whose loops are split again and again, each the outer loop of the one before."""
    paths = ["x", *(f"x.o{place}" for place in range(count))]
    made = [
        file.SplitTable(old, outer, f"{old}.i", number(2), False, "GuardWithIf", kind)
        for old, outer in pairwise(paths)
    ]
    loops = [loop(f"{one}.i") for one in paths[:-1]] + [loop(paths[-1])]

    def stage() -> file.StageScheduleTable:
        own = [evolve(one, factor=number(2)) for one in made]
        return order([evolve(one) for one in loops], splits=own)

    further = [
        definition(
            ["x"], [nodes.AddNode(call("out", 0, [variable("x")]), number(n))], stage(),
            at=[variable("x")],
        )
        for n in range(stages - 1)
    ]  # fmt: skip
    first = definition(["x"], [variable("x")], stage())
    return contents([func("out", ["x"], [variable("x")], further, first)])


def prefetches(stages: int, count: int) -> file.Contents:
    """Stages with many prefetches."""

    def stage() -> file.StageScheduleTable:
        ahead = [
            file.PrefetchDirectiveTable("out", "x", "x", number(n + 1), "GuardWithIf", "")
            for n in range(count)
        ]
        return order([loop("x")], prefetches=ahead)

    further = [
        definition(
            ["x"], [nodes.AddNode(call("out", 0, [variable("x")]), number(n))], stage(),
            at=[variable("x")],
        )
        for n in range(stages)
    ]  # fmt: skip
    return contents([func("out", ["x"], [variable("x")], further)])


def specializations(count: int) -> file.Contents:
    """A stage with many specializations, one behind the other."""
    cases = [
        file.SpecializationTable(
            nodes.LTNode(nodes.VariableNode("p", int32(), "p", "", None), number(place)),
            definition(["x"], [variable("x")]),
            "",
        )
        for place in range(count)
    ]
    first = definition(["x"], [variable("x")], specializations=cases)
    given = [file.ExternalParameterTable(False, int32(), 0, "p")]
    return contents([func("out", ["x"], [variable("x")], init=first)], externals=given)


def minimal(count: int) -> file.Contents:
    """Funcs of as few parts as possible, each of which reads the one before."""
    bare = func("f0", ["x"], [variable("x")])
    assert bare.init_def is not None
    made = [bare]
    for place in range(1, count):
        name = "out" if place == count - 1 else f"f{place}"
        read = evolve(
            call(f"f{place - 1}", place - 1, [evolve(variable("x"), type=None)]), type=None
        )
        begin = evolve(bare.init_def, predicate=None, values=(read,), args=(), stage_schedule=None)
        made.append(evolve(bare, name=name, func_schedule=None, init_def=begin))
    return contents([*made])


def unknown_variables(count: int, characters: int) -> file.Contents:
    """A Func with a long name that reads many variables which there are not."""
    reads = [variable(f"q{place}") for place in range(count)]
    name = "n" * characters
    return contents([func(name, ["x"], [total(reads)])], [name])


def long_names(count: int, characters: int) -> file.Contents:
    """A sum over variables with a long name."""
    name = "x" * characters
    return contents([func("out", [name], [total([variable(name) for _ in range(count)])])])


SHAPES: Mapping[str, Callable[[int], file.Contents]] = {
    "nested": nested,
    "conversions": conversions,
    "wide": wide,
    "shared": shared,
    "chain": chain,
    "rooted": rooted,
    "fan": fan,
    "outputs": outputs,
    "updates": updates,
    "reductions": lambda count: reductions(count, 40),
    "dimensions": dimensions,
    "values": values,
    "images": images,
    "params": params,
    "requirements": requirements,
    "foreign": foreign,
    "wrappers": wrappers,
    "wrapped": wrapped,
    "splits": lambda count: splits(count, 400),
    "prefetches": lambda count: prefetches(count, 999),
    "specializations": specializations,
    "unknown variables": lambda count: unknown_variables(count, MOST_CHARACTERS),
    "long names": lambda count: long_names(count, MOST_CHARACTERS),
    "minimal": minimal,
}
"""By what there are many of, contents with so many."""


def parts(record: object) -> int:
    """How many tables a file of a record has."""
    count, todo = 0, [record]
    while todo:
        one = todo.pop()
        if isinstance(one, tuple):
            todo += one
        elif has(type(one)):
            count += 1
            todo += [getattr(one, each.name) for each in fields(type(one))]
    return count


def fullest(make: Callable[[int], file.Contents], most: int = MOST_TABLES) -> file.Contents:
    """The contents with as many of something as fit into ``most`` parts."""
    few, more = parts(make(2)), parts(make(3))
    return make(2 + (most - few) // (more - few))
