"""Records as JSON: schedules, pipelines with their expressions, moves, and any record like them.

A document is ``{"is": "Pipeline", "version": 1, "nodes": [...], "value": {...}}``. Expressions are
numbers into ``nodes``, where operands stand before what is made of them, so that shared
subexpressions are written once; without expressions there are no ``nodes``. Where a field may hold
records of several kinds, and for moves, ``is`` inside the record tells which.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from enum import StrEnum
from types import NoneType, UnionType
from typing import Any, TypeVar, Union, get_args, get_origin

import attrs
import cattrs
from cattrs.cols import homogenous_tuple_structure_factory
from cattrs.gen import make_dict_structure_fn

from spaces.model.algorithm.consistency import pipeline_problems
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.articles import shown_kind, with_article
from spaces.model.expressions.expr import Expr
from spaces.model.expressions.types import Type
from spaces.model.schedules.conditions import ConditionError
from spaces.model.text_limits import LARGEST_NUMBER, LONGEST_DOCUMENT, is_number
from spaces.model.writing.expr_json import NodeError, NodeTable, parse_type, read_nodes
from spaces.model.writing.tokens import shortened

_T = TypeVar("_T")


VERSION = 1
"""The version of the format. It grows whenever documents written before can no longer be read."""


class DocumentError(ValueError):
    """A document is not the record that was asked for; the message says where and why."""


def to_json(record: object, indent: int | None = None) -> str:
    """``record``, or a tuple of records, as a JSON document.

    Raises:
        DocumentError: it holds something that is no record of the library.
    """
    table = NodeTable()
    with _using(_writing, table):
        try:
            value = _converter.unstructure(record)
            nodes = {"nodes": table.nodes} if table.nodes else {}
            document = {"is": _kind(type(record)), "version": VERSION, **nodes, "value": value}
            return json.dumps(document, indent=indent, allow_nan=False)
        except (NodeError, TypeError) as error:
            raise DocumentError(f"This cannot be written as JSON: {error}") from None


def from_json(text: str, type_: type[_T]) -> _T:
    """The record of class ``type_`` (or ``tuple[Schedule, ...]``) that a document holds.

    Raises:
        DocumentError: the text is no JSON, or is of another version of the format, or holds
            something else, or has unknown, missing or senseless fields; the message names all of
            them.
    """
    document = _loaded(text)
    if not isinstance(document, dict) or not {"is", "version", "value"} <= set(document):
        raise DocumentError(
            'A document has the keys "is", "version" and "value"; this text lacks some of them.'
        )
    version = document["version"]
    if type(version) is not int or version != VERSION:
        raise DocumentError(
            f"The document has version {_shown(version)} of the format; this library reads version "
            f"{VERSION}. Write it again with this library."
        )
    extra = set(document) - {"is", "version", "nodes", "value"}
    if extra:
        raise DocumentError(f"A document has no key {', '.join(sorted(extra))}.")
    expected = _kind(type_)
    if str(document["is"]) not in {expected, *_variants(type_)}:
        raise DocumentError(f"The document holds {document['is']!r}, not {with_article(expected)}.")
    try:
        with _using(_reading, read_nodes(document.get("nodes", []))):
            record = _converter.structure(document["value"], type_)
    except NodeError as error:
        raise DocumentError(f"The document is not {with_article(expected)}. {error}") from None
    except (cattrs.BaseValidationError, _Expected) as error:
        mistakes = cattrs.transform_error(error, path="value", format_exception=_sentence)
        places = [f"{path}: {what}" for what, _, path in (m.rpartition(" @ ") for m in mistakes)]
        raise DocumentError(
            "\n".join([f"The document is not {with_article(expected)}.", *places])
        ) from None
    problems = pipeline_problems(record) if isinstance(record, Pipeline) else []
    if problems:
        raise DocumentError("\n".join(["The document is not a sound Pipeline.", *problems]))
    return record


def _loaded(text: str) -> object:
    """Parses a JSON text.

    Raises:
        DocumentError: the text is not JSON, exceeds a limit, or has a key twice in an object.
    """
    if not isinstance(text, str):
        raise TypeError(f"The text of a document comes first, and not {shown_kind(text)}.")
    if len(text) > LONGEST_DOCUMENT:
        raise DocumentError(
            f"A document has at most {LONGEST_DOCUMENT} characters; this one has {len(text)}."
        )
    try:
        document = json.loads(text, object_pairs_hook=_object, parse_constant=_no_number)
    except RecursionError:
        raise DocumentError(
            "The text is not JSON: its lists and objects are nested too deep."
        ) from None
    except DocumentError:
        raise
    except ValueError as error:
        raise DocumentError(f"The text is not JSON: {error}.") from None
    if _SURROGATE.search(text) is not None and not _is_unicode(document):
        raise DocumentError("A string of the document holds half of a character (a surrogate).")
    return document


_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]|[\ud800-\udfff]")


def _is_unicode(document: object) -> bool:
    """Whether all strings can be written: halves of characters cannot."""
    try:
        json.dumps(document, ensure_ascii=False).encode()
    except (UnicodeEncodeError, RecursionError):
        return False
    return True


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = Counter(key for key, _ in pairs)
        twice = next(key for key, count in keys.items() if count > 1)
        raise DocumentError(f"The key {shortened(twice)!r} stands twice in an object.")
    return found


def _no_number(word: str) -> object:
    raise DocumentError(f"{word} is no number of JSON.")


_writing: ContextVar[NodeTable] = ContextVar("nodes of the document being written")
_reading: ContextVar[list[Expr]] = ContextVar("nodes of the document being read")


@contextmanager
def _using(variable: ContextVar[_T], value: _T) -> Iterator[None]:
    token = variable.set(value)
    try:
        yield
    finally:
        variable.reset(token)


def _kind(type_: object) -> str:
    """The name of a class in documents; records of several kinds in a row are a list."""
    return type_.__name__ if isinstance(type_, type) and type_ is not tuple else "list"


class _Expected(ValueError):
    """A value is not what its field holds; the message is a sentence."""


def _sentence(error: BaseException, _: object) -> str:
    if isinstance(error, _Expected | NodeError | ConditionError):
        return str(error)
    if isinstance(error, KeyError):
        return "This field is missing."
    if isinstance(error, cattrs.ForbiddenExtraKeysError):
        return f"There is no field {', '.join(sorted(error.extra_fields))} here."
    return f"This cannot be read: {error}."


def _primitive(*allowed: type) -> Callable[[object, object], Any]:
    """A hook for fields that hold one of ``allowed``, without conversions."""
    names = " or ".join(_JSON_NAMES[a] for a in allowed)

    def read(value: object, _: object) -> object:
        if float in allowed and isinstance(value, dict) and value.get("float") in _NOT_FINITE:
            return float(value["float"])
        if type(value) is int and (int in allowed or float in allowed) and not is_number(value):
            raise _Expected(f"Expected a number of at most {LARGEST_NUMBER}.")
        if type(value) in allowed:
            return value
        if type(value) is int and allowed == (float,):
            return float(value)
        raise _Expected(f"Expected {names}, not {_shown(value)}.")

    return read


def _shown(value: object) -> str:
    """A value of JSON in a message."""
    if isinstance(value, list | dict):
        return "a list" if isinstance(value, list) else "an object"
    return shortened(json.dumps(value))


_NOT_FINITE = ("inf", "-inf", "nan")

_JSON_NAMES = {
    str: "a string",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    NoneType: "null",
}


def _write_float(value: float) -> object:
    return value if math.isfinite(value) else {"float": repr(value)}


def _read_expr(value: object, type_: type[Expr]) -> Expr:
    nodes = _reading.get()
    if type(value) is not int or not 0 <= value < len(nodes):
        raise _Expected(f"Expected the number of one of {len(nodes)} nodes, not {value!r}.")
    if not isinstance(nodes[value], type_):
        raise _Expected(f"Expected {with_article(type_.__name__)}, not `{nodes[value]}`.")
    return nodes[value]


def _read_enum(value: object, enum: type[StrEnum]) -> StrEnum:
    for member in enum:
        if member.value == value:
            return member
    known = ", ".join(enum)
    raise _Expected(f"{value!r} is not {with_article(enum.__name__)}; those are {known}.")


def _is_union(type_: object) -> bool:
    return get_origin(type_) in (Union, UnionType)


def _is_primitive_union(type_: object) -> bool:
    return _is_union(type_) and set(get_args(type_)) <= set(_JSON_NAMES)


def _variants(type_: object) -> dict[str, type]:
    """Classes of the records that ``is`` distinguishes, by name."""
    members = get_args(type_) if _is_union(type_) else ()
    return {c.__name__: c for c in members if attrs.has(c)}


def _is_variant_type(type_: object) -> bool:
    return _is_union(type_) and len(_variants(type_)) == len(get_args(type_))


def _variant_writer(type_: Any) -> Callable[[Any], dict[str, Any]]:
    def write(record: Any) -> dict[str, Any]:
        fields: dict[str, Any] = _converter.unstructure(record, type(record))
        return {"is": type(record).__name__, **fields}

    return write


def _variant_reader(type_: Any) -> Callable[[object, object], Any]:
    variants = _variants(type_)

    def read(value: object, _: object) -> object:
        chosen = variants.get(str(value.get("is"))) if isinstance(value, dict) else None
        if chosen is None or not isinstance(value, dict):
            raise _Expected(f'Expected an object whose "is" is one of {", ".join(variants)}.')
        fields = {k: v for k, v in value.items() if k != "is"}
        return _converter.structure(fields, chosen)

    return read


def _record_reader(type_: type[_T]) -> Callable[[Any, object], _T]:
    fields = make_dict_structure_fn(
        type_, _converter, _cattrs_forbid_extra_keys=True, _cattrs_detailed_validation=True
    )

    def read(value: Any, _: object) -> _T:
        if not isinstance(value, dict):
            raise _Expected(
                f"Expected an object with the fields of {with_article(type_.__name__)}."
            )
        return fields(value, type_)

    return read


def _is_tuple(type_: Any) -> bool:
    return get_origin(type_) is tuple


def _tuple_reader(type_: Any) -> Callable[[Any, object], tuple[Any, ...]]:
    members = get_args(type_)
    repeated = len(members) == 2 and members[1] is Ellipsis
    every = homogenous_tuple_structure_factory(type_, _converter) if repeated else None

    def read(value: Any, _: object) -> tuple[Any, ...]:
        if not isinstance(value, list):
            raise _Expected(f"Expected a list, not {_shown(value)}.")
        if every is not None:
            return tuple(every(value, type_))
        if len(value) != len(members):
            raise _Expected(f"Expected a list of {len(members)}, not of {len(value)}.")
        return tuple(_converter.structure(v, m) for v, m in zip(value, members, strict=True))

    return read


def _build_converter() -> cattrs.Converter:
    converter = cattrs.Converter(forbid_extra_keys=True)
    for primitive in (str, int, float, bool):
        converter.register_structure_hook(primitive, _primitive(primitive))
    converter.register_unstructure_hook(float, _write_float)
    converter.register_structure_hook_factory(
        _is_primitive_union, lambda t: _primitive(*get_args(t))
    )
    converter.register_unstructure_hook_factory(
        _is_primitive_union, lambda t: lambda v: converter.unstructure(v, type(v))
    )
    # Without this the hook for str would be taken for enumerations of strings.
    converter.register_structure_hook(StrEnum, _read_enum)
    converter.register_structure_hook_factory(_is_tuple, _tuple_reader)
    converter.register_structure_hook_factory(attrs.has, _record_reader)
    converter.register_structure_hook_factory(_is_variant_type, _variant_reader)
    converter.register_unstructure_hook_factory(_is_variant_type, _variant_writer)
    converter.register_unstructure_hook(Type, str)
    converter.register_structure_hook(Type, lambda text, _: parse_type(text))
    converter.register_unstructure_hook(Expr, lambda e: _writing.get().index(e))
    converter.register_structure_hook_func(
        lambda t: isinstance(t, type) and issubclass(t, Expr), _read_expr
    )
    return converter


_converter = _build_converter()
