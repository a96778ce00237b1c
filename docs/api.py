"""The page of the public names: ``python -m docs.api`` writes ``docs/api.md``."""

from __future__ import annotations

import ast
import inspect
import re
import sys
from collections import ChainMap
from collections.abc import Callable, Iterator, Mapping
from enum import Enum
from functools import cached_property
from itertools import groupby
from pathlib import Path
from types import ModuleType, NoneType
from typing import Any, ForwardRef

from attrs import has

import spaces
from spaces.public_names import read_names

PAGE = Path(__file__).with_name("api.md")

_NAMES = read_names(Path(spaces.__file__).with_suffix(".pyi").read_text("utf-8"))

_HEAD = """<!-- Made by `python -m docs.api` from `spaces/__init__.pyi` and the docstrings. -->

# The public names

`import spaces` gives all of them, by use:

"""

_PLAIN = (bool, int, float, str, tuple, NoneType)
"""The types of defaults that the page shows; it shows others as `...`."""

_SENTENCES = ("Returns:", "Yields:")
"""The sections of a docstring that hold sentences; the others are lists."""

_SECTIONS = ("Args:", "Attributes:", "Raises:", *_SENTENCES)


def page() -> str:
    """The whole page."""
    uses = [(use, list(group)) for use, group in groupby(_NAMES, lambda name: _NAMES[name].use)]
    toc = "".join(f"- [{use}](#{_anchor(use)}): {_listed(group)}\n" for use, group in uses)
    parts = [f"## {use}\n\n" + "\n".join(map(_entry, group)) for use, group in uses]
    return _HEAD + toc + "\n" + "\n".join(parts)


def _anchor(head: str) -> str:
    return re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-")


def _listed(names: list[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _entry(name: str) -> str:
    """The part about one public name: its signature, its docstring, and the members of a class."""
    value, source = getattr(spaces, name), _NAMES[name]
    if isinstance(value, ModuleType):
        functions = [n for n, v in vars(value).items() if _is_own_function(value, n, v)]
        members = [_member(n, staticmethod(getattr(value, n))) for n in functions]
        return _joined(name, "", _prose(inspect.getdoc(value) or ""), members)
    if inspect.isclass(value):
        members = [_member(n, v) for n, v in _attributes(value).items() if _is_shown(v, n)]
        if issubclass(value, Enum):
            members = [_choice(name, choice.name, source.module) for choice in value]
        is_made = not (
            issubclass(value, BaseException | Enum) or getattr(value, "_is_protocol", False)
        )
        called = _signature(name, value) if is_made else ""
        return _joined(name, called, _prose(inspect.getdoc(value) or ""), members)
    if inspect.isfunction(value):
        return _joined(name, _signature(name, value), _prose(inspect.getdoc(value) or ""), [])
    tree = _tree(source.module).body
    return _joined(name, "", _prose(_said_after(source.attribute, tree)), [])


def _joined(name: str, called: str, prose: str, members: list[str]) -> str:
    code = f"```python\n{called}\n```\n" if called else ""
    listed = "".join(members)
    return "\n".join(part for part in (f"### `{name}`\n", code, prose, listed) if part)


def _attributes(value: type) -> dict[str, object]:
    """The attributes of a class, with those of the record that it extends."""
    found: dict[str, object] = {}
    for one in reversed(value.__mro__):
        if one is value or has(one):
            found |= vars(one)
    return found


def _is_own_function(module: ModuleType, name: str, value: object) -> bool:
    is_function = inspect.isfunction(value) and value.__module__ == module.__name__
    return is_function and not name.startswith("_")


def _is_shown(value: object, name: str) -> bool:
    kinds = (property, cached_property, classmethod, staticmethod)
    return not name.startswith("_") and (inspect.isfunction(value) or isinstance(value, kinds))


def _member(name: str, value: Any) -> str:
    """A line for a method, with the first paragraph of its docstring."""
    function = value
    if isinstance(value, property):
        function = value.fget
    elif isinstance(value, cached_property):
        function = value.func
    elif isinstance(value, classmethod | staticmethod):
        function = value.__func__
    is_value = isinstance(value, property | cached_property)
    is_bound = not isinstance(value, staticmethod)
    called = name if is_value else _signature(name, function, is_method=True, is_bound=is_bound)
    said = " ".join(_prose((inspect.getdoc(function) or "").partition("\n\n")[0]).split())
    return f"- `{called}`" + (f": {said}" if said else "") + "\n"


def _signature(
    name: str, function: Callable[..., object], *, is_method: bool = False, is_bound: bool = False
) -> str:
    """A call with types and defaults as the source writes them; a long one on several lines."""
    parameters = list(inspect.signature(function).parameters.values())
    if is_bound:
        parameters = parameters[1:]
    # A field with a converter shows the type that the class writes.
    written: Mapping[str, object] = getattr(function, "__annotations__", {})
    if inspect.isclass(function):
        written = ChainMap(*(vars(one).get("__annotations__", {}) for one in function.__mro__))
    shown = [_parameter(p, written) for p in parameters if not p.name.startswith("_")]
    kinds = [p.kind for p in parameters]
    if inspect.Parameter.KEYWORD_ONLY in kinds and inspect.Parameter.VAR_POSITIONAL not in kinds:
        shown.insert(kinds.index(inspect.Parameter.KEYWORD_ONLY), "*")
    result = written.get("return", "")
    arrow = f" -> {result}" if isinstance(result, str) and result else ""
    line = f"{name}({', '.join(shown)}){arrow}"
    if is_method or len(line) <= 100:
        return line
    return f"{name}(\n" + "".join(f"    {part},\n" for part in shown) + f"){arrow}"


_STARS: Mapping[object, str] = {
    inspect.Parameter.VAR_POSITIONAL: "*",
    inspect.Parameter.VAR_KEYWORD: "**",
}


def _parameter(parameter: inspect.Parameter, written: Mapping[str, object]) -> str:
    text = _STARS.get(parameter.kind, "") + parameter.name
    annotation = written.get(parameter.name, parameter.annotation)
    if isinstance(annotation, ForwardRef):  # of a named tuple
        annotation = annotation.__forward_arg__
    text += f": {annotation}" if isinstance(annotation, str) else ""
    if parameter.default is parameter.empty:
        return text
    return f"{text} = {_default(parameter.default)}"


def _default(value: object) -> str:
    if isinstance(value, Enum):
        return f"{type(value).__name__}.{value.name}"
    if inspect.isfunction(value):
        return value.__name__
    return repr(value) if _is_plain(value) else "..."


def _is_plain(value: object) -> bool:
    """Whether the form of a value is short and the same in each process."""
    items = value if isinstance(value, tuple) else ()
    return type(value) in _PLAIN and all(map(_is_plain, items))


def _choice(name: str, choice: str, module: str) -> str:
    """A line for a member of an enumeration."""
    (body,) = (
        node.body
        for node in _tree(module).body
        if isinstance(node, ast.ClassDef) and node.name == name
    )
    said = " ".join(_prose(_said_after(choice, body)).split())
    return f"- `{name}.{choice}`: {said}\n"


def _tree(module: str) -> ast.Module:
    return ast.parse(inspect.getsource(sys.modules[module]))


def _said_after(name: str, statements: list[ast.stmt]) -> str:
    """The string after the assignment of a name; without one, the text of the assigned value."""
    for node, following in zip(statements, [*statements[1:], None], strict=True):
        if isinstance(node, ast.Assign | ast.AnnAssign) and name in _assigned(node):
            match following:
                case ast.Expr(ast.Constant(str(text))):
                    return inspect.cleandoc(text)
            return f"``{ast.unparse(node.value)}``" if node.value is not None else ""
    raise LookupError(f"No statement assigns {name}.")


def _assigned(node: ast.Assign | ast.AnnAssign) -> Iterator[str]:
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    for target in targets:
        for part in target.elts if isinstance(target, ast.Tuple) else [target]:
            if isinstance(part, ast.Name):
                yield part.id


def _prose(text: str) -> str:
    """A docstring as Markdown: its sections become lists, its references names."""
    text = re.sub(r":\w+:`~?(?:[\w.]*\.)?(\w+)`", r"`\1`", text).replace("``", "`")
    lines, section = [], ""
    for line in text.splitlines():
        if line in _SECTIONS:
            section = line
            lines += [f"*{line.removesuffix(':')}*", ""]
        elif section in _SENTENCES and line.strip():
            lines.append(line.strip())
        elif section and re.match(r"    \S", line):
            name, colon, said = line.strip().partition(": ")
            lines.append(f"- `{name}`: {said}" if colon else f"- {name}")
        elif section and line.strip():
            lines.append("  " + line.strip())
        else:
            section = section if not line.strip() else ""
            lines.append(line)
    return "\n".join(lines).rstrip() + "\n" if text else ""


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
