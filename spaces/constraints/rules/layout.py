"""Rules about how values lie in storage: the order of dimensions, and padding."""

from __future__ import annotations

from collections.abc import Iterator

from spaces.constraints.rules.phrases import listed
from spaces.constraints.rules.records import Records
from spaces.constraints.rules.rule import VIOLATED, Check, own_rule
from spaces.constraints.rules.written import order_directive, pad_directive
from spaces.model.expr import constant
from spaces.model.types import Bool, Int32


def _written(records: Records, func: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The directives about the layout of a Func, with the dimensions they name."""
    entry = records.entry(func)
    for order in entry.storage_orders:
        yield order_directive(func, order), order
    for pad in entry.pads:
        yield pad_directive(func, pad), (pad.dimension,)


@own_rule(
    "storage.layout-dimension",
    "Storage is reordered and padded along dimensions of the Func itself, each named once.",
    "Halide's reorder_storage and align_storage take Vars of the Func.",
)
def layout_dimension(records: Records, func: str) -> Iterator[Check]:
    """One check for each name that is no dimension, or given twice."""
    args = records.function(func).args
    for directive, names in _written(records, func):
        for name in dict.fromkeys(names):
            if name in args and names.count(name) == 1:
                continue
            problem = "is no dimension of it" if name not in args else "is named twice"
            yield Check(
                func,
                VIOLATED,
                "{directive} lays out {func} along {dimension}, which {problem}.",
                "Its dimensions are {legal}.",
                loop=name,
                values={
                    "directive": directive,
                    "func": func,
                    "dimension": name,
                    "problem": problem,
                    "legal": listed(args),
                },
            )


@own_rule(
    "storage.layout-output",
    "The storage of an output is neither reordered nor padded.",
    "The array that the caller passes has an order and strides already; Halide takes them as they "
    "are, too.",
)
def layout_output(records: Records, func: str) -> Iterator[Check]:
    """One check for each directive about the layout of an output."""
    if func in records.pipeline.outputs:
        for directive, names in _written(records, func):
            yield Check(
                func,
                VIOLATED,
                "{directive} lays out {func}, but it is an output: its array is the caller's.",
                "Leave it out, and pass an array with the strides that are wanted.",
                loop=names[0] if names else "",
                values={"directive": directive, "func": func},
            )


@own_rule(
    "storage.pad",
    "Storage is padded to a multiple of a whole number from 1 to 2147483647.",
    "Strides are multiples of it.",
    multiple="values",
)
def pad_range(records: Records, func: str) -> Iterator[Check]:
    """One check for each padded dimension."""
    for pad in records.entry(func).pads:
        yield Check(
            func,
            constant(1 <= pad.multiple <= Int32.max_value, Bool),
            "{directive} pads {func} along {dimension} to a multiple of {multiple}.",
            "It is at least 1 and at most 2147483647.",
            loop=pad.dimension,
            values={
                "directive": pad_directive(func, pad),
                "func": func,
                "dimension": pad.dimension,
                "multiple": pad.multiple,
            },
        )


RULES = (layout_dimension, layout_output, pad_range)
