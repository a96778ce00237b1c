"""Schedules as text, in Halide's own spelling; what is not written is as in the default schedule.

>>> print(format_schedule(s, p))
blur_y.tile(x, y, xi, yi, 256, 32).vectorize(xi, 8).parallel(y)
blur_x.compute_at(blur_y, x).vectorize(x, 8)
"""

from __future__ import annotations

from attrs import frozen

from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.directives.declaration import DIRECTIVES, ArgumentKind, Kinds
from spaces.model.directives.directives import schedule as directives_on
from spaces.model.expressions.expr import Expr
from spaces.model.schedules.argument_checks import check_pipeline, check_schedule
from spaces.model.schedules.choice import Choice
from spaces.model.schedules.conditions import format_condition
from spaces.model.schedules.domain_order import OrderedLoop
from spaces.model.schedules.schedule import Schedule, StageOf
from spaces.model.text_limits import LONGEST_WORD
from spaces.model.writing.calls import KIND_DIRECTIVES, Argument, DirectiveCall
from spaces.model.writing.chain import directive_calls
from spaces.model.writing.schedule_reader import Reader
from spaces.model.writing.syntax import parse_statements
from spaces.model.writing.syntax_error import problem_at
from spaces.model.writing.tokens import is_plain, quote
from spaces.model.writing.vocabulary import RESERVED
from spaces.model.writing.written import WrittenSchedule


def format_schedule(schedule: Schedule, pipeline: Pipeline) -> str:
    """``schedule`` as directives, one line a Func (and one an update stage), consumers first.

    Every record has a text, illegal ones too: parsing it gives the same record, where it is within
    the limits of texts and its conditions are about sizes and parameters. The default schedule is
    the empty text.

    Raises:
        ValueError: ``schedule`` is not one of this pipeline's Funcs and stages, or says something
            of stages that there are not.
        TypeError: something else is given than a Schedule and a Pipeline.
    """
    return "\n".join(
        ".".join((line.stage, *line.calls)) for line in written_lines(schedule, pipeline)
    )


@frozen
class Line:
    """The directives on one stage, as text.

    Attributes:
        stage: the Func, or its update.
        calls: the directives on it, without the dots between them.
        adds_func: one of them adds a Func; those after it are on that Func.
    """

    stage: str
    calls: tuple[str, ...]
    adds_func: bool = False


def written_lines(schedule: Schedule, pipeline: Pipeline) -> tuple[Line, ...]:
    """The lines of :func:`format_schedule`, which raises the same errors."""
    check_schedule("format_schedule", schedule)
    check_pipeline("format_schedule", pipeline)
    speller = _Speller(frozenset(_single_rvars(pipeline)))
    return tuple(
        Line(
            speller.name(entry.func) + (f".update({entry.stage - 1})" if entry.stage else ""),
            tuple(speller.call(call) for call in entry.calls),
            entry.adds is not None,
        )
        for entry in directive_calls(pipeline, schedule)
    )


def format_call(call: DirectiveCall) -> str:
    """One directive as text: ``split(x, x, xi, 8)``."""
    return _Speller(frozenset()).call(call)


def parse_schedule(text: str, pipeline: Pipeline, vector_bits: int | None = None) -> Schedule:
    """The schedule that a text describes, for instance one pasted from Halide C++.

    Loop names are recorded as written, unknown ones included: ``verify`` judges them.

    ``natural_vector_size<float>()`` in the text is how many floats ``vector_bits`` hold, the width
    of a CPU's vectors, such as ``spaces.device("cpu").vector_bits``.

    Raises:
        ScheduleSyntaxError: the text has mistakes; it lists all of them with their places.
        TypeError: something else is given than a text and a Pipeline.
    """
    return read_schedule(text, pipeline, vector_bits).faultless().schedule


def parse_partial(text: str, pipeline: Pipeline, vector_bits: int | None = None) -> Schedule:
    """The schedule of those Funcs that a text names; it has no entries for the others.

    Raises:
        ScheduleSyntaxError: the text has mistakes; it lists all of them with their places.
    """
    written = read_schedule(text, pipeline, vector_bits).faultless()
    funcs = (entry for entry in written.schedule.funcs if entry.name in written.named)
    return written.schedule.with_funcs(funcs)


def read_schedule(text: str, pipeline: Pipeline, vector_bits: int | None = None) -> WrittenSchedule:
    """What a text says of a schedule, mistakes and all; arguments as of :func:`parse_schedule`."""
    if not isinstance(text, str):
        raise TypeError(f"The text of a schedule comes first, and it is no {type(text).__name__}.")
    check_pipeline("parse_schedule", pipeline)
    reader = Reader(pipeline, directives_on(pipeline))
    schedule = reader.read_all(parse_statements(text, vector_bits))
    return WrittenSchedule(
        schedule,
        tuple(sorted((problem_at(text, m) for m in reader.mistakes), key=lambda p: p.place)),
        frozenset(reader.named),
        frozenset(reader.unread),
        text,
        reader.places,
    )


def _single_rvars(pipeline: Pipeline) -> dict[str, str]:
    """For RDoms of one dimension, which Halide names without ``.x``, the name of the RVar."""
    return {
        stage.rvars[0].name.removesuffix(".x"): stage.rvars[0].name
        for function in pipeline.functions
        for stage in function.stages
        if len(stage.rvars) == 1 and stage.rvars[0].name.endswith(".x")
    }


@frozen
class _Speller:
    """Directive calls as text; names that would be read as something else are quoted."""

    ambiguous: frozenset[str]

    def name(self, name: str) -> str:
        taken = name in self.ambiguous or name.split(".")[0] in RESERVED
        is_short = len(name) <= LONGEST_WORD
        return name if is_short and is_plain(name) and not taken else quote(name)

    def call(self, call: DirectiveCall) -> str:
        declared = DIRECTIVES[call.name]
        if declared.adds_func:
            return f"{declared.spelled}({self.added(call)})"
        if declared.takes_level and call.args == ("", ""):
            return f"{call.name}(LoopLevel::inlined())"
        args = (self.argument(arg, declared.kinds(n)) for n, arg in enumerate(call.args))
        return f"{declared.spelled}({', '.join(args)})"

    def added(self, call: DirectiveCall) -> str:
        """The arguments of a directive that adds a Func: several Funcs or pairs in braces."""
        names = [self.name(str(arg)) for arg in call.args]
        if call.name != "rfactor":
            return f"{{{', '.join(names)}}}" if len(names) > 1 else ", ".join(names)
        pairs = [f"{loop}, {var}" for loop, var in zip(names[::2], names[1::2], strict=True)]
        braced = ", ".join(f"{{{pair}}}" for pair in pairs)
        return pairs[0] if len(pairs) == 1 else f"{{{braced}}}"

    def argument(self, value: Argument, kinds: Kinds) -> str:
        if kinds == (ArgumentKind.TEXT,):
            return quote(str(value))
        if isinstance(value, Expr):
            return format_condition(value)
        if isinstance(value, int):
            return str(value).lower()  # a truth value, too
        if isinstance(value, OrderedLoop):
            return f"{KIND_DIRECTIVES[value.kind]}({self.name(value.name)})"
        if isinstance(value, StageOf):
            update = f".update({value.stage - 1})" if value.stage else ""
            return f"{self.name(value.func)}{update}"
        if isinstance(value, tuple):
            pairs = (f"{{{self.name(loop)}, {align.qualified}}}" for loop, align in value)
            return f"{{{', '.join(pairs)}}}"
        if isinstance(value, Choice):
            return value.qualified
        return self.name(value)
