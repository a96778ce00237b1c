"""Texts beyond the limits of readers: a sentence with its place, and soon."""

from __future__ import annotations

import pytest

from spaces.constraints.devices.device import device
from spaces.constraints.legality.verify import verify
from spaces.model import text_limits
from spaces.model.algorithm.freeze import pipeline
from spaces.model.algorithm.func import Func
from spaces.model.algorithm.image_param import ImageParam
from spaces.model.algorithm.param import Param
from spaces.model.algorithm.var import Var
from spaces.model.directives.directives import schedule
from spaces.model.expressions.expr import Variable, cast
from spaces.model.expressions.types import Float32, Float64, UInt8
from spaces.model.schedules.conditions import ConditionError, format_condition, read_condition
from spaces.model.schedules.schedule import Schedule
from spaces.model.writing.serialize import DocumentError, from_json, to_json
from spaces.model.writing.syntax_error import ScheduleSyntaxError
from spaces.model.writing.text import format_schedule, parse_schedule

x, y = Var("x"), Var("y")
image, gain = ImageParam(Float32, 2, "input"), Param(Float32, "gain")
level, wide = Param(UInt8, "level"), Param(Float64, "wide")
g, f = Func("g"), Func("f")
g[x, y] = image[x, y] * gain + cast(Float32, level) + cast(Float32, wide)
f[x, y] = g[x, y] + g[x, y + 1]
BLUR = pipeline(f)


def mistake(text: str) -> tuple[int, int, str]:
    """Line, column and sentence of the only mistake."""
    with pytest.raises(ScheduleSyntaxError) as caught:
        parse_schedule(text, BLUR)
    (problem,) = caught.value.problems
    assert len(str(caught.value)) < 4000
    return problem.line, problem.column, problem.message


@pytest.mark.parametrize("before", ["f.split(x, x, xi, ", "f.vectorize(x);\nconst int n = "])
def test_brackets_around_numbers(before: str) -> None:
    def text(depth: int) -> str:
        end = ")" if before.startswith("f.split") else ";"
        return f"{before}{'(' * depth}8{')' * depth}{end}"

    inside = before.count("(") - before.count(")")
    deepest = text_limits.MOST_NESTED - inside
    parse_schedule(text(deepest), BLUR)
    line, column, message = mistake(text(deepest + 1))
    last = before.splitlines()[-1]
    assert (line, column) == (before.count("\n") + 1, len(last) + deepest + 1)
    assert message == "Brackets are nested more than 64 deep here; write fewer."
    mistake(text(5000))


@pytest.mark.parametrize(
    ("opening", "closing"), [("f.reorder(" + "{" * 5000, "}" * 5000 + ")"),
                             ("f.loops(" + "parallel(" * 4000, ")" * 4001),
                             ("f[" + "(" * 5000, ")" * 5000 + "].parallel(y)"),
                             ("g.compute_at(" + "f.in(" * 5000, ")" * 5000 + ", x)")],
)  # fmt: skip
def test_brackets_around_names(opening: str, closing: str) -> None:
    assert "nested more than 64 deep" in mistake(f"{opening}x{closing}")[2]


def test_numbers_stay_below_a_limit_on_every_way_to_them() -> None:
    assert "beyond" in mistake("const int a = 4294967296;\nconst int b = a * a;")[2]
    squares = "\n".join(f"const int a{n + 1} = a{n} * a{n};" for n in range(34))
    line, column, message = mistake(f"const int a0 = 10;\n{squares}")
    assert (line, column) == (6, len("const int a5 = a4 *"))
    assert "beyond 9223372036854775807" in message
    for text in (
        "f.split(x, x, xi, 9223372036854775808)",
        "f.split(x, x, xi, 9223372036854775807 + 1)",
        "f.split(x, x, xi, -9223372036854775808 - 1)",
        "int n = 9223372036854775807;\nn *= 2",
    ):
        assert "beyond 9223372036854775807" in mistake(text)[2]
    with pytest.raises(OverflowError, match="beyond 9223372036854775807"):
        schedule(BLUR).func("f").split("x", "x", "xi", 2**63)
    with pytest.raises(OverflowError, match="about 5000 digits is beyond"):
        schedule(BLUR).func("f").bound("x", 0, 10**4999)
    largest = parse_schedule("f.split(x, x, xi, 9223372036854775807)", BLUR)
    assert parse_schedule(format_schedule(largest, BLUR), BLUR) == largest
    document = to_json(largest)
    assert from_json(document, Schedule) == largest
    with pytest.raises(DocumentError, match="9223372036854775807"):
        from_json(document.replace("9223372036854775807", "9223372036854775808"), Schedule)


def test_names_without_quotes_have_a_longest_length() -> None:
    parse_schedule(f"f.split(x, x, {'i' * text_limits.LONGEST_WORD}, 8)", BLUR)
    line, column, message = mistake(f"f.split(x, x, {'i' * 1001}, 8)")
    assert (line, column) == (1, len("f.split(x, x, ") + 1)
    assert message.startswith("This has 1001 characters")
    assert "too long" in mistake(f"f.reorder({'a.' * 600}b)")[2]
    quoted = parse_schedule(f"f.split(x, x, '{'i' * 5000}', 8)", BLUR)
    assert parse_schedule(format_schedule(quoted, BLUR), BLUR) == quoted
    assert len(mistake(f"'{'f' * 30_000}'.parallel(y)")[2]) < 3000


def test_texts_have_a_longest_length_and_funcs_most_directives() -> None:
    fits = "f.vectorize(x)".ljust(text_limits.LONGEST_SCHEDULE)
    parse_schedule(fits, BLUR)
    line, column, message = mistake(f"{fits}\n")
    assert (line, column) == (1, text_limits.LONGEST_SCHEDULE + 1)
    assert message == "A schedule has at most 200000 characters; this one has more."
    splits = (text_limits.MOST_RECORDS - 2) // 2
    many = "f" + ".split(x, x, xi, 2)" * splits
    given = parse_schedule(many, BLUR)
    assert parse_schedule(format_schedule(given, BLUR), BLUR) == given
    assert mistake(f"{many};f.parallel(x).split(x, x, xi, 2).split(x, x, xi, 2)") == (
        *(1, len(f"{many};f.parallel(x).s")),
        "f has more than 500 loops, splits, bounds and other records from here on; leave some out.",
    )


def test_wrappers_of_wrappers_have_a_limit() -> None:
    most = text_limits.MOST_ADDED_FUNCS
    long = parse_schedule("g" + ".in()" * most, BLUR)
    assert len(long.derivations) == most
    assert from_json(to_json(long), Schedule) == long
    *_, message = mistake("g" + ".in()" * (most + 1))
    assert message == "A schedule adds at most 100 Funcs; leave some out."


def test_many_mistakes_are_told_in_part() -> None:
    with pytest.raises(ScheduleSyntaxError) as caught:
        parse_schedule("\n".join(f"f{n}.parallel(y)" for n in range(1501)), BLUR)
    assert len(caught.value.problems) == text_limits.MOST_MISTAKES + 1
    assert str(caught.value).startswith("The schedule has more than 100 mistakes.")
    assert str(caught.value).endswith("Here are the first 100.")
    assert len(str(caught.value)) < 100_000


def test_strings_that_do_not_end() -> None:
    assert "does not end on its line" in mistake('f.split(x, x, "xi, 8)')[2]
    assert "does not end on its line" in mistake('f.vectorize("' + '\\"' * 20_000)[2]


@pytest.mark.parametrize(
    ("condition", "told"),
    [
        ("input.extent.0 >= 2147483648", "The literal 2147483648 does not fit int32"),
        ("int8(gain) > 1000", "The literal 1000 does not fit int8"),
        ("wide > 1" + "0" * 400, "does not fit float64"),
        ("gain > 1e300", "The literal 1e+300 does not fit float32"),
        ("gain > 1e999", "larger than any float64"),
        ("gain > 1" + "0" * 5000, "is no condition"),
        ("~gain > 1", "`~` is for integers"),
        ("gain & 1", "`&` combines two integers"),
        ("!gain", "`not` combines conditions only"),
        ("1 && gain > 0", "`and` combines conditions only"),
        ("min(gain) > 1", "min is given 1 operands here; it takes (a, b, more)"),
        ("min(gain, b=1) > 1", "is nothing that a condition"),
        ("input.dim(true).extent() > 1", "is nothing that a condition"),
        ("!" * 3000 + "(gain > 0)", "nested more than 64 deep"),
        ("(" * 65 + "gain > 0" + ")" * 65, "nested more than 64 deep"),
        ("(" * 5000 + "gain > 0" + ")" * 5000, "nested more than 64 deep"),
        ("gain" + " + gain" * 70 + " > 0", "nested more than 64 deep"),
        ("gain" + " + gain" * 5000 + " > 0", "nested more than 64 deep"),
        ("gain > 0" + " && gain > 0" * 70, "nested more than 64 deep"),
        ("\0", "is no condition"),
    ],
)
def test_conditions_that_cannot_be_read(condition: str, told: str) -> None:
    assert told in mistake(f"f.specialize({condition})")[2]


def test_the_deepest_condition_is_written_and_read() -> None:
    deepest = f"{'(!' * 61}(input.dim(0).extent() > min(int64(5), int64(6))){')' * 61}"
    with pytest.raises(ConditionError, match="nested more than 64 deep"):
        read_condition(f"!{deepest}", BLUR)
    read = read_condition(deepest, BLUR)
    assert read_condition(format_condition(read), BLUR) is read


def test_conditions_that_cannot_be_written_are_not_made() -> None:
    deep = Variable(Float32, "gain") > 0
    shared = Variable(Float32, "gain")
    for _ in range(70):
        deep = deep & (Variable(Float32, "gain") > 1)
    for _ in range(40):
        shared = shared * shared
    for condition, told in ((deep, "nested more than 64"), (shared > 0, "more than 1000 names")):
        with pytest.raises(ConditionError, match=told):
            schedule(BLUR).func("f").specialize(condition)
    chained = "f" + "".join(f".specialize(input.extent.0 > {n})" for n in range(70))
    with pytest.raises(ScheduleSyntaxError, match="nested more than 64"):
        parse_schedule(chained, BLUR)
    small = to_json(schedule(BLUR).func("f").specialize(Variable(Float32, "gain") > 0).schedule)
    assert from_json(small, Schedule).funcs[-1].specializations
    node = '{"type": "float32", "var": "gain"}'
    nested = node + "".join(
        f', {{"type": "float32", "op": "sqrt", "args": [{n}]}}' for n in range(70)
    )
    large = small.replace(node, nested).replace('"args": [0, 1]', '"args": [70, 71]')
    large = large.replace('"condition": 2', '"condition": 72')
    with pytest.raises(DocumentError, match=r"specializations\[0\]: The .*nested more than 64"):
        from_json(large, Schedule)


@pytest.mark.parametrize(
    "text",
    ["uint8(44) == uint8(44)", "float64(0.1) < float64(0.2)", "wide > 0.1", "gain > -inf",
     "gain == nan", "float64(inf) > float64(2.0)", "(uint8(3) << 1) > 2", "uint64(5) > uint64(4)",
     "(level >> uint8(1)) > 2", "select(gain > 0, uint8(1), uint8(2)) == level",
     "select(gain > 0, uint8(1), uint8(2)) == uint8(1)", "(input.extent.0 >> int32(3)) > 1",
     "min(uint8(1), uint8(2)) == level", "int8(-5) > int8(-6)", "uint64(18446744073709551615) > 3",
     "wide > float64(1e300)"],
)  # fmt: skip
def test_numbers_of_conditions_keep_their_types(text: str) -> None:
    condition = read_condition(text, BLUR)
    assert read_condition(format_condition(condition), BLUR) is condition


def test_a_condition_without_sizes_is_judged() -> None:
    given = parse_schedule("f.specialize(uint8(44) == uint8(45)).parallel(y)", BLUR)
    assert verify(BLUR, given, device("cpu")).legal
