"""The page of the directives: ``python -m docs.directives`` writes ``docs/directives.md``."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from pathlib import Path

from attrs import frozen

from docs.rules import SUBJECTS
from spaces.constraints.examples.catalogue import EXACT_EXAMPLES, EXAMPLES
from spaces.constraints.examples.example import ExampleSubject
from spaces.constraints.rules.catalogue import RULES, rule
from spaces.model.algorithm.freeze import pipeline
from spaces.model.algorithm.func import Func
from spaces.model.algorithm.image_param import ImageParam
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.algorithm.rdom import RDom
from spaces.model.algorithm.var import Var
from spaces.model.directives.declaration import DIRECTIVES
from spaces.model.directives.directives import Directives
from spaces.model.expressions.expr import cast
from spaces.model.expressions.types import Int32, UInt8
from spaces.model.text_limits import LIMITS
from spaces.model.writing.chain import directive_calls
from spaces.model.writing.vocabulary import UNSUPPORTED

PAGE = Path(__file__).with_name("directives.md")


@frozen
class Shown:
    """A directive as the page shows it.

    Attributes:
        name: the name of the method of ``Directives``.
        example: lines for :func:`algorithm` that use the directive, legal on ``device``.
        usage: the text form of the directive, if its arguments have no fixed places.
        device: the name of the device.
    """

    name: str
    example: str
    usage: str = ""
    device: str = "cpu"

    @property
    def written(self) -> str:
        """The directive with its arguments."""
        return self.usage or DIRECTIVES[self.name].usage


_ROWS = "bx.compute_at(out, y)"
_STRIPS = "out.split(y, y, yi, 8)"
_WIDE = "specialize(input.extent.0 >= 64)"
_TILE = "tile(x, y[, xo, yo], xi, yi, xfactor, yfactor[, tail])"

PARTS: dict[str, tuple[Shown, ...]] = {
    "Loops": (
        Shown("split", "out.split(y, y, yi, 8, RoundUp)"),
        Shown("fuse", "out.fuse(x, y, xy).parallel(xy)"),
        Shown("rename", "out.tile(x, y, xi, yi, 32, 8).rename(y, strip).parallel(strip)"),
        Shown("tile", "out.tile(x, y, xi, yi, 32, 8)", _TILE),
        Shown("reorder", "out.reorder(y, x)", "reorder(innermost, ..., outermost)"),
        Shown("serial", "out.parallel(y).serial(y)"),
        Shown("parallel", "out.parallel(y, 8)"),
        Shown("vectorize", "out.vectorize(x, 8)"),
        Shown("unroll", "out.unroll(x, 4, GuardWithIf)"),
        Shown("partition", "out.vectorize(x, 8).partition(x, Partition::Always)"),
        Shown("never_partition", "out.never_partition(x)", "never_partition(loop, ...)"),
        Shown("always_partition", "out.always_partition(x, y)", "always_partition(loop, ...)"),
        Shown("never_partition_all", "out.never_partition_all()"),
        Shown("always_partition_all", "out.always_partition_all()"),
        Shown("prefetch", "out.prefetch(input, y, y, 2, Clamp)"),
        Shown("specialize", f"out.{_WIDE}.vectorize(x, 8)"),
        Shown("specialize_fail", f'out.{_WIDE}\nout.specialize_fail("Too small.")'),
        Shown("atomic", "total.update(0).atomic().parallel(r.x)"),
        Shown("loops", "out.loops(y, x)", "loops(innermost, ..., outermost)"),
    ),
    "Where a Func is computed and stored": (
        Shown("compute_inline", "bx.compute_root().compute_inline()"),
        Shown("compute_root", "bx.compute_root()"),
        Shown("compute_at", _ROWS),
        Shown("store_root", "bx.store_root().compute_at(out, y)"),
        Shown("store_at", "bx.store_at(out, y).compute_at(out, x)"),
        Shown("store_in", f"{_ROWS}.store_in(MemoryType::Heap)"),
        Shown("hoist_storage", f"{_STRIPS}\nbx.compute_at(out, yi).hoist_storage(out, y)"),
        Shown("hoist_storage_root", f"{_ROWS}.hoist_storage_root()"),
        Shown("ring_buffer", f"{_ROWS}.hoist_storage_root().ring_buffer(2)"),
        Shown("async_", f"{_ROWS}.hoist_storage_root().ring_buffer(2).async()"),
        Shown("memoize", "fade.compute_root().memoize()"),
        Shown("compute_with", "dy.compute_root()\nbx.compute_root().compute_with(dy, y)"),
        Shown("fold_storage", "by.store_root().compute_at(out, y).fold_storage(y, 2)"),
        Shown("reorder_storage", "bx.compute_root().reorder_storage(y, x)",
              "reorder_storage(innermost, ..., outermost)"),
        Shown("align_storage", "bx.compute_root().align_storage(x, 16)"),
        Shown("bound_storage", "out.bound(x, 0, 64)\nbx.compute_at(out, y).bound_storage(x, 64)"),
    ),
    "How much is computed": (
        Shown("bound", "out.bound(x, 0, 64)"),
        Shown("bound_extent", "out.bound_extent(x, 64)"),
        Shown("align_bounds", "bx.compute_root().align_bounds(x, 8)"),
        Shown("align_extent", "bx.compute_root().align_extent(x, 8)"),
    ),
    "Graphics processors": (
        Shown("gpu_blocks", "out.split(x, x, xi, 32).gpu_blocks(x, y).gpu_threads(xi)",
              "gpu_blocks(innermost, ..., outermost)", "sm_80"),
        Shown("gpu_threads", "out.split(x, x, xi, 32).gpu_blocks(x, y).gpu_threads(xi)",
              "gpu_threads(innermost, ..., outermost)", "sm_80"),
        Shown("gpu_lanes", "out.split(x, x, xi, 32).gpu_blocks(x, y).gpu_lanes(xi)", "", "sm_80"),
        Shown("gpu_single_thread", "total.compute_root().gpu_single_thread()", "", "sm_80"),
        Shown("gpu_tile", "out.gpu_tile(x, y, xi, yi, 32, 8)", f"gpu_{_TILE}", "sm_80"),
    ),
    "New Funcs": (
        Shown("in_", "input.in(bx).compute_at(out, y)", "in(consumer, ...)"),
        Shown("clone_in", "bx.clone_in(by).compute_root()", "clone_in(consumer, ...)"),
        Shown("rfactor", "total.update(0).rfactor(r.x, u)", "rfactor(loop, var, ...)"),
    ),
}  # fmt: skip
"""Every directive of a text, in the order of the page."""

_HEAD = """\
<!-- Made by `python -m docs.directives` from the docstrings of `Directives`; change those. -->

# Directives

Directives write a schedule. In Python they are methods of `spaces.schedule(pipeline)`, and take
names or the Vars and Funcs themselves. As text, `spaces.parse_schedule` reads them in Halide's
spelling. A line of text begins with a Func or with one of its updates (`f.update(0)`), and
directives for it follow. In Python, `func(f)` and `update(0)` select the stage for the directives
after them. Names, arguments and meanings are Halide's, unless this page says otherwise.

A factor is a whole number, a sum or product of numbers (also of declared ones, as in
`const int vec = 8;`), or the name of a parameter that a search chooses. A tail is `Auto`,
`RoundUp`, `GuardWithIf`, `ShiftInwards`, `Predicate`, `PredicateLoads`, `PredicateStores`,
`ShiftInwardsAndBlend` or `RoundUpAndBlend`. As in Halide, outputs hold whole tiles under
`PredicateLoads`, and images under `PredicateStores`. Masked lanes load and store nothing under
either tail; in Halide they may.

Directives record what you write; `spaces.verify` says what is wrong with it. Each directive lists
the rules that it can break (`rules.md` has examples). Every example is legal on this pipeline:

```python
{algorithm}```
"""


PASTED = {
    'Var xi("xi"), yi;': "loops; directives name them by their text or by the variable",
    "const int vec = 8;\nby.vectorize(x, vec * 2);": "a number, and a factor made of it",
    "by.vectorize(x, natural_vector_size<float>());": "the number of floats in a vector of "
    "the CPU. `parse_schedule` takes the CPU's `vector_bits`; the command line uses this "
    "machine's. `natural_vector_size(UInt(16))` and `get_target().natural_vector_size<uint8_t>()` "
    "work too",
    "Func(out).parallel(y);": "`out.parallel(y)`",
    "by.in().compute_root();\nby.compute_at(by.in(), y);": "the wrapper of `by`, called `by_in`",
    "by.compute_at(out, y);\nbx.compute_at(by, Var::outermost());": "outside the loops of `by`, "
    "where `by` itself is computed; `store_at` and `hoist_storage` work too. `compute_with` at "
    "this level fuses no loop",
    "total.update(0).unscheduled();": "has no effect",
}
"""Lines of C++ that texts may have besides directives, with their meanings."""

_CPP = """
Besides directives, a text may have these lines of C++, so you can paste a schedule:

{lines}
- `level[1].compute_root();`: a directive for the Func `level_1` or `level1`

The reader refuses loops (`for`) and branches (`if`) of C++. Write out a loop's statements for each
Func by its name, and only the statements of the branch that applies.
"""

_LIMITS = """## What a text may hold

`parse_schedule` reads each text in a moment, or refuses it with a sentence that names the place. So
a text has limits, far beyond what people write:

| limit on | at most |
| --- | --- |
{}
"""


def algorithm() -> Pipeline:
    """The pipeline of the examples."""
    x, y = Var("x"), Var("y")
    image = ImageParam(UInt8, 2, "input")
    r = RDom([(0, 64)], "r")
    bx, by, dy = Func("bx"), Func("by"), Func("dy")
    fade, total, out = Func("fade"), Func("total"), Func("out")
    bx[x, y] = (image[x, y] + image[x + 1, y]) / 2
    by[x, y] = (bx[x, y] + bx[x, y + 1]) / 2
    dy[x, y] = image[x, y + 1] - image[x, y]
    fade[x] = x * x / 64
    total[y] = cast(Int32, 0)
    total[y] += cast(Int32, image[r.x, y])
    out[x, y] = by[x, y] + by[x, y + 1] + dy[x, y] + total[y] + fade[x]
    return pipeline(out)


def page() -> str:
    """The whole page."""
    lines = inspect.getsource(algorithm).splitlines()
    body = inspect.cleandoc("\n" + "\n".join(lines[2:-1]))
    parts = [_HEAD.format(algorithm=f"{body}\n")]
    refused = _refused()
    for headline, directives in PARTS.items():
        parts.append(f"## {headline}\n")
        for one in directives:
            parts += _directive(one, refused.get(one.name, []))
    lines = [f"- `{line}`: {meaning}" for line, meaning in PASTED.items()]
    parts.append("## C++ around directives")
    parts.append(_CPP.format(lines="\n".join(lines).replace(";\n", "; ")))
    parts.append(_LIMITS.format("\n".join(f"| {what} | {most} |" for what, most in LIMITS.items())))
    parts.append("## Halide's directives that this library does not have\n")
    parts += [f"- `{name}`: {said}" for name, said in sorted(UNSUPPORTED.items())]
    return "\n".join(parts) + "\n"


def _directive(shown: Shown, refused: list[str]) -> Iterator[str]:
    method = getattr(Directives, shown.name)
    yield f"### `{DIRECTIVES[shown.name].spelled}`\n"
    yield f"`{shown.written}`\n"
    yield f"{_plain(inspect.getdoc(method) or '')}\n"
    where = "" if shown.device == "cpu" else f" on {shown.device}"
    yield f"Legal{where}:\n\n```\n{shown.example}\n```\n"
    if refused:
        yield f"Rules that it can break: {', '.join(map(_link, refused))}.\n"


def _plain(text: str) -> str:
    """A docstring as Markdown, without its errors (`verify` and the parser report first)."""
    shown = text.split("\nRaises:")[0].rstrip()
    return re.sub(r":\w+:`~?[\w.]*?(\w+)`", r"`\1`", shown).replace("``", "`")


def _link(id: str) -> str:
    return f"[`{id}`](rules.md#{id.replace('.', '')})"


def _refused() -> dict[str, list[str]]:
    """The rules whose examples each directive breaks, in the order of the rules."""
    order = [r.id for r in sorted(RULES, key=lambda r: list(SUBJECTS).index(r.id.split(".")[0]))]
    found: dict[str, set[str]] = {}
    for example in (*EXAMPLES, *EXACT_EXAMPLES):
        broken, legal = _calls(example.broken), _calls(example.legal)
        # With the same directives in both, the pipeline or the device makes the difference.
        for name, _ in (broken - legal) or broken:
            found.setdefault(name, set()).add(rule(example.rule).id)
    return {name: [id for id in order if id in ids] for name, ids in found.items()}


def _calls(subject: ExampleSubject) -> set[tuple[str, object]]:
    """The directives of a schedule, each with its stage and arguments; empty for a schedule that
    directives cannot express.
    """
    try:
        entries = directive_calls(subject.pipeline, subject.schedule)
    except ValueError:
        return set()
    return {(call.name, (e.func, e.stage, call.args)) for e in entries for call in e.calls}


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
