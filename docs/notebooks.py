"""The notebooks, run without Jupyter: ``python -m docs.notebooks`` runs the cells of each and keeps
what they answer.

A cell with the tag ``varies`` answers otherwise in each run, for it measures.
"""

from __future__ import annotations

import ast
import io
import json
from collections.abc import Iterator
from contextlib import chdir, redirect_stdout
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

FOLDER = Path(__file__).parents[1] / "examples" / "notebooks"

NOTEBOOKS = tuple(FOLDER / f"{name}.ipynb" for name in ("tutorial", "search", "tuning"))

Notebook = dict[str, Any]
"""A document of Jupyter's format 4."""

Cell = dict[str, Any]

Output = dict[str, Any]


def read_notebook(path: Path) -> Notebook:
    """The document in a file."""
    found: Notebook = json.loads(path.read_text("utf-8"))
    return found


def write_notebook(path: Path, notebook: Notebook) -> None:
    """Writes a document as Jupyter does."""
    text = json.dumps(notebook, indent=1, sort_keys=True, ensure_ascii=False)
    path.write_text(text + "\n", "utf-8")


def code_cells(notebook: Notebook) -> list[Cell]:
    """The cells that run."""
    return [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]


def varies(cell: Cell) -> bool:
    """Whether a cell answers otherwise in each run."""
    return "varies" in cell["metadata"].get("tags", [])


def run_cells(notebook: Notebook) -> Iterator[tuple[Cell, list[Output]]]:
    """Runs the cells that hold code, in one namespace, and yields each with what it answers.

    What a cell prints is one output. The value of an expression on its last line is another one:
    its ``repr``, and its card where it has one.
    """
    names: dict[str, Any] = {"__name__": "__main__"}
    for number, cell in enumerate(code_cells(notebook), 1):
        yield cell, _answers("".join(cell["source"]), names, number)


def texts(outputs: list[Output]) -> list[str]:
    """The plain text of each output."""
    return [
        "".join(one["text"] if one["output_type"] == "stream" else one["data"]["text/plain"])
        for one in outputs
    ]


def _answers(source: str, names: dict[str, Any], number: int) -> list[Output]:
    statements = ast.parse(source).body
    last = statements.pop() if statements and isinstance(statements[-1], ast.Expr) else None
    printed, value = io.StringIO(), None
    with redirect_stdout(printed):
        exec(compile(ast.Module(statements, []), f"<cell {number}>", "exec"), names)
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), f"<cell {number}>", "eval"), names)
    found: list[Output] = []
    if printed.getvalue():
        text = printed.getvalue().splitlines(keepends=True)
        found.append({"output_type": "stream", "name": "stdout", "text": text})
    if value is not None:
        shown = {"text/plain": repr(value).splitlines(keepends=True)}
        if hasattr(value, "_repr_html_"):
            shown["text/html"] = value._repr_html_().splitlines(keepends=True)
        found.append(
            {
                "output_type": "execute_result",
                "execution_count": number,
                "data": shown,
                "metadata": {},
            }
        )
    return found


def main() -> None:
    """Runs all notebooks anew, each in a folder of its own."""
    for path in NOTEBOOKS:
        notebook = read_notebook(path)
        with TemporaryDirectory() as folder, chdir(folder):
            for number, (cell, outputs) in enumerate(run_cells(notebook), 1):
                cell["outputs"], cell["execution_count"] = outputs, number
        write_notebook(path, notebook)
        print(path.name, path.stat().st_size, "bytes")


if __name__ == "__main__":
    main()
