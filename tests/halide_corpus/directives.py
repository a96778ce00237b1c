"""What holds for directives that few schedules need, as a part of the documentation page.

Each cell is a claim that ``tests/halide_programs/test_directives.py`` checks.
"""

from __future__ import annotations

from collections.abc import Iterator

from attrs import field, frozen

YES = "yes"
EQUAL = "Halide's values"


@frozen
class Row:
    """What holds for a directive.

    Attributes:
        title: the directive, as the page shows it.
        rules: those about it, besides those that refuse it on a device.
        construct: what the differential fuzzer calls it.
        cpu: the rule that refuses it on a CPU; empty where our code gives the values of Halide.
        gpu: the same for a GPU; the emulator runs the kernels.
    """

    title: str
    rules: tuple[str, ...] = field(converter=tuple)
    construct: str
    cpu: str = ""
    gpu: str = ""


ROWS: dict[str, Row] = {
    "async": Row("`async`", ("async.producers", "advice.async"), "directive: async"),
    "ring_buffer": Row(
        "`ring_buffer`",
        ("ring.extent", "ring.hoisted", "ring.whole", "storage.kept-values"),
        "directive: ring_buffer",
        gpu="gpu.hoisted-storage",
    ),
    "memoize": Row(
        "`memoize`",
        ("memoize.place", "memoize.image"),
        "directive: memoize",
        gpu="memoize.device",
    ),
    "hoist_storage_root": Row(
        "`hoist_storage_root`",
        ("call.hoist-level", "storage.hoist-size"),
        "level: hoisted storage",
        gpu="gpu.hoisted-storage",
    ),
    "gpu_lanes": Row(
        "`gpu_lanes`",
        ("gpu.lanes", "gpu.lane-extent"),
        "directive: gpu_lanes",
        cpu="gpu.device",
    ),
    "specialize": Row(
        "storage in each `specialize`",
        ("specialize.condition", "specialize.inlined", "call.compute-level"),
        "directive: specialize",
    ),
    "in": Row("`in` of a wrapper", ("derive.not-read", "derive.name-taken"), "directive: in"),
    "clone_in": Row(
        "`in` of a clone", ("derive.unknown-func", "call.unread"), "directive: clone_in"
    ),
    "rfactor": Row(
        "`rfactor` of argmax",
        ("derive.operator", "derive.order", "derive.factored-loop"),
        "directive: rfactor",
    ),
}


def table() -> Iterator[str]:
    """The rows, in Markdown."""
    heads = ("directive", "rules", "proofs", "CPU", "GPU", "text", "comes in", "goes back", "drawn")
    yield f"| {' | '.join(heads)} |"
    yield f"|{' --- |' * len(heads)}"
    for row in ROWS.values():
        rules = ", ".join(f"`{rule}`" for rule in row.rules)
        code = (f"refused: `{rule}`" if rule else EQUAL for rule in (row.cpu, row.gpu))
        cells = (row.title, rules, YES, *code, YES, YES, YES, f"`{row.construct}`")
        yield f"| {' | '.join(cells)} |"


def section() -> Iterator[str]:
    """The part of the page, paragraph by paragraph; a table is one paragraph."""
    yield "## Directives that few schedules need"
    yield (
        "Each directive stands in a program of Halide, in a schedule for a CPU and in one for a "
        "GPU where a device does not refuse it. The program comes in from memory and from a file "
        "with the same schedule, which text keeps and which goes back to Funcs without one. All "
        "obligations of the schedule are proven. Our code for the CPU, and our CUDA code in the "
        "emulator, give the values that Halide computes. The last column is what the differential "
        "fuzzer calls the directive. `tests/halide_programs/test_directives.py` checks each cell."
    )
    yield "\n".join(table())
    yield (
        "**`async`**: Halide runs a Func beside its readers; code that is compiled here computes "
        "it before them."
    )
    yield (
        "**`gpu_lanes`**: Halide keeps what the lanes of a warp share in their registers; here "
        "it is in shared memory. So a Func that Halide computes between the loop of threads and "
        "the loop of lanes is refused (`gpu.nested-threads`)."
    )
    yield (
        "**Storage in each `specialize`**: in Halide a specialization copies the loops of a "
        "stage, which it may then change. The Func's levels, memory, folds and bounds are those of "
        "all specializations. A level names a loop, and each specialization has its own loop of "
        "that name, so a Func that is computed there has another size in each; where one lacks the "
        "loop, both sides refuse the level. The same holds here, and `store_in` or `compute_at` "
        "behind `specialize` is refused when it is read."
    )
    yield (
        "**`in` and `clone_in` of each other**: a Func that no other reads any more, because a "
        "clone of its only reader took its place, is ignored by Halide; here it must be inlined "
        "(`call.unread`)."
    )
    yield (
        "**`rfactor` of argmax**: where the first or the last of equal values counts, only the "
        "outermost loops of the reduction may be factored. Where the update compares the places, "
        "too, all of its loops may be; Halide takes such an operator for one that is not "
        "associative, so this schedule cannot be applied there."
    )
    yield (
        "**Sizes of outputs** that a file lacks follow from those of images: the largest for "
        "which nothing is read outside of them."
    )
