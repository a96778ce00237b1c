"""Small and large changes of texts and of JSON values, drawn by a generator of random numbers."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

_TOKEN = re.compile(r'"(?:[^"\\\n]|\\.)*"|\w+|\s+|.', re.DOTALL)

STRANGE = (
    *("", "0", "-1", "8", "2147483647", "2147483648", "-2147483649", "9223372036854775808"),
    *("1e999", "1e300", "0x10", "1_0", "08", "nan", "inf", "true", "1" + "0" * 400, "9" * 6000),
    *("in", "update", "x", "y", "r", "_0", "__thread", "__root", "Var::outermost()", "pyramid[1]"),
    *("TailStrategy::RoundUp", "Auto", "MemoryType::Stack", "DeviceAPI::CUDA", "é", "\u2028", "𝕏"),
    *(
        "\0",
        "\ufeff",
        "\udc80",
        "\\",
        "//",
        "/*",
        '"',
        "'",
        "#",
        ";",
        "::",
        "...",
        "{}",
        "()",
        "->",
    ),
    *(
        "const int vec = 8;",
        "int",
        "natural_vector_size<float>()",
        "sizeof(int)",
        "for",
        "if",
        "else",
    ),
    *("specialize(input.extent.0 > 4)", "specialize(true && 1)", 'specialize_fail("no")', "Func f"),
    *(".in()", ".clone_in(f)", ".compute_root()", ".update(0)", ".rfactor(r.x, u)", ".atomic()"),
)
"""What may stand in place of a token, or beside it."""

BRACKETS = (("(", ")"), ("{", "}"), ("[", "]"), ("!(", ")"), ("in(", ")"), ("-", ""), ("/*", "*/"))

DEPTHS = (1, 2, 8, 63, 64, 65, 300, 5000)

Change: TypeAlias = Callable[[random.Random, str, Sequence[str]], str]


def mutated_text(draw: random.Random, text: str, others: Sequence[str]) -> str:
    """``text`` after a few changes; ``others`` are texts that parts are taken from."""
    for _ in range(draw.choice((1, 1, 1, 2, 2, 3, 5))):
        text = draw.choice(_CHANGES)(draw, text, others)
    return text


def _one_byte(draw: random.Random, text: str, others: Sequence[str]) -> str:
    place = draw.randrange(len(text) + 1)
    change = draw.choice(("", chr(draw.randrange(128)), chr(draw.randrange(0x3000))))
    return text[:place] + change + text[place + draw.randrange(2) :]


def _one_token(draw: random.Random, text: str, others: Sequence[str]) -> str:
    tokens = _TOKEN.findall(text) or [""]
    place = draw.randrange(len(tokens))
    match draw.randrange(4):
        case 0:
            tokens[place] = draw.choice(STRANGE)
        case 1:
            tokens.insert(place, draw.choice(STRANGE))
        case 2:
            tokens[place] = draw.choice(tokens)
        case _:
            other = _TOKEN.findall(draw.choice(others)) or [""]
            tokens[place] = draw.choice(other)
    return "".join(tokens)


def _one_number(draw: random.Random, text: str, others: Sequence[str]) -> str:
    numbers = list(re.finditer(r"\d+", text))
    if not numbers:
        return text
    found = draw.choice(numbers)
    size = draw.choice((1, 3, 9, 10, 18, 19, 20, 300, 5000))
    values = (*map(str, (0, 1, 2**31 - 1, 2**31, 2**63, len(found[0]))), "9" * size, "-" + found[0])
    return text[: found.start()] + draw.choice(values) + text[found.end() :]


def _lines(draw: random.Random, text: str, others: Sequence[str]) -> str:
    lines = text.splitlines(keepends=True) or [""]
    place, other = draw.randrange(len(lines)), draw.randrange(len(lines))
    match draw.randrange(6):
        case 0:
            del lines[place]
        case 1:
            lines.insert(place, lines[other])
        case 2:
            lines[place], lines[other] = lines[other], lines[place]
        case 3:
            lines.insert(place, draw.choice(draw.choice(others).splitlines(keepends=True) or [""]))
        case 4:
            lines[place] *= draw.choice((2, 10, 100))
        case _:
            lines[place] = lines[place].rstrip("\n")
    return "".join(lines)


def _nested(draw: random.Random, text: str, others: Sequence[str]) -> str:
    tokens = _TOKEN.findall(text) or [""]
    place, depth = draw.randrange(len(tokens)), draw.choice(DEPTHS)
    opening, closing = draw.choice(BRACKETS)
    tokens[place] = opening * depth + tokens[place] + closing * (depth - draw.randrange(2))
    return "".join(tokens)


def _cut(draw: random.Random, text: str, others: Sequence[str]) -> str:
    begin = draw.randrange(len(text) + 1)
    return text[begin:] if draw.randrange(3) == 0 else text[:begin]


def _repeated(draw: random.Random, text: str, others: Sequence[str]) -> str:
    """A directive again and again."""
    calls = list(re.finditer(r"\.\w+\([^()]*\)", text))
    if not calls:
        return text
    found = draw.choice(calls)
    times = draw.choice((2, 5, 20, 70, 300, 2500))
    return text[: found.end()] + found[0] * times + text[found.end() :]


def _declared(draw: random.Random, text: str, others: Sequence[str]) -> str:
    """Numbers that grow, and names that stand for others."""
    number = draw.choice((2, 10, 0, -3))
    sign = draw.choice(("*", "+", "-", "/"))
    lines = [f"const int a0 = {number};"]
    lines += [f"const int a{n + 1} = a{n} {sign} a{n};" for n in range(draw.choice((1, 5, 40)))]
    lines += [f"int b = a0;\nb {sign}= a1;", 'Var x("y"), y("x"), c;', "Func g = f.in();"]
    return "\n".join(lines[: draw.randrange(len(lines) + 1)]) + "\n" + text.replace("8", "a1", 1)


def _conditional(draw: random.Random, text: str, others: Sequence[str]) -> str:
    """A condition made of parts."""

    def part(depth: int) -> str:
        if depth == 0 or draw.random() < 0.2:
            return draw.choice(
                ("input.extent.0", "input.width()", "output.dim(0).min()", "gain", "8", "0.5",
                 "1e40", "true", "uint8(200)", "int64(9)", "float64(1e300)", "nan", "-1", "x")
            )  # fmt: skip
        sign = draw.choice(
            (*"+-*/%&|^<>!~", "<=", "==", "!=", "&&", "||", "<<", ">>", "min", "cast")
        )
        if sign in "!~":
            return f"{sign}({part(depth - 1)})"
        if sign in ("min", "cast"):
            name = draw.choice(
                ("min", "abs", "absd", "select", "popcount", "uint8", "float32", "bool")
            )
            return f"{name}({', '.join(part(depth - 1) for _ in range(draw.randrange(1, 4)))})"
        return f"({part(depth - 1)} {sign} {part(depth - 1)})"

    condition = part(draw.choice((1, 2, 3, 6)))
    call = f".specialize({condition} {draw.choice(('> 3', '== 1', '', '&& true'))})"
    heads = list(re.finditer(r"^\w+(\.update\(\d*\))?(?=\.)", text, re.MULTILINE))
    if not heads:
        return text
    place = draw.choice(heads).end()
    return text[:place] + call * draw.choice((1, 1, 2, 80)) + text[place:]


def _spliced(draw: random.Random, text: str, others: Sequence[str]) -> str:
    other = draw.choice(others)
    return text[: draw.randrange(len(text) + 1)] + other[draw.randrange(len(other) + 1) :]


_CHANGES: tuple[Change, ...] = (
    *(_one_byte, _one_byte, _one_token, _one_token, _one_token, _one_number, _lines, _lines),
    *(_nested, _cut, _repeated, _declared, _conditional, _spliced),
)


def mutated_document(draw: random.Random, text: str, others: Sequence[str]) -> str:
    """A JSON document after a few changes: of its values, and of its text."""
    if draw.random() < 0.15:
        return mutated_text(draw, text, others)
    document = json.loads(text)
    for _ in range(draw.choice((1, 1, 1, 2, 3, 8))):
        _change_value(draw, document, others)
    written = json.dumps(document)
    if draw.random() < 0.1:
        written = _twice(draw, written)
    return _one_byte(draw, written, others) if draw.random() < 0.05 else written


def _twice(draw: random.Random, text: str) -> str:
    """A key twice in an object, or a word that is no number of JSON."""
    keys = list(re.finditer(r'"[a-z_]+": ', text))
    if not keys:
        return text
    found = draw.choice(keys)
    value = draw.choice(("NaN", "Infinity", "-Infinity", "1e999", "[]", '{"float": "nan"}'))
    return f"{text[: found.start()]}{found[0]}{value}, {text[found.start() :]}"


def _change_value(draw: random.Random, document: Any, others: Sequence[str]) -> None:
    """Change one value somewhere inside."""
    holders = [h for h in _holders(document) if h]
    if not holders:
        return
    holder = draw.choice(holders)
    key = draw.choice(list(holder) if isinstance(holder, dict) else range(len(holder)))
    match draw.randrange(14):
        case 0:
            del holder[key]
        case 1:
            holder[key] = _value(draw)
        case 2:
            holder[key] = _copy(draw.choice(_values(draw.choice(holders))))
        case 3 | 8 | 9 | 10 | 11 | 12 | 13:
            alike = [v for h in holders for v in _values(h) if type(v) is type(holder[key])]
            holder[key] = _copy(draw.choice(alike))
        case 4 if isinstance(holder, list):
            holder.insert(draw.randrange(len(holder) + 1), holder[key])
        case 4 | 5 if isinstance(holder, dict):
            holder[draw.choice(("is", "nodes", "func", "name", "extra", "", key))] = _value(draw)
        case 5 if isinstance(holder, list):
            draw.shuffle(holder)
        case 6 if isinstance(holder[key], int):
            holder[key] += draw.choice((-1, 1, 7, 2**31, -(2**63)))
        case 6 if isinstance(holder[key], str):
            holder[key] = mutated_text(draw, holder[key], others)[:2000]
        case _:
            for _ in range(draw.choice((1, 3, 60))):
                holder[key] = [holder[key]] if draw.randrange(2) else {"is": holder[key]}


def _values(holder: Any) -> list[Any]:
    return list(holder.values() if isinstance(holder, dict) else holder)


def _copy(value: Any) -> Any:
    return json.loads(json.dumps(value))


def _holders(document: Any) -> list[Any]:
    """All lists and objects."""
    found, stack = [], [document]
    while stack:
        value = stack.pop()
        if isinstance(value, list | dict):
            found.append(value)
            stack += value.values() if isinstance(value, dict) else value
    return found


def _value(draw: random.Random) -> Any:
    return draw.choice(
        (None, True, False, 0, 1, -1, 2**31, 2**63, 10**400, 0.5, 1e308, -0.0, "", "x", "inf",
         "nan", "Schedule", "Pipeline", "split", "uint8", "float32", "float32x4", [], {}, [[]],
         [0], ["x"], {"is": "Split"}, {"is": "Fuse"}, {"float": "nan"}, "\ud800", "f" * 3000, 3, 7)
    )  # fmt: skip
