"""A notebook as a page of the site, with what its cells have answered."""

from __future__ import annotations

from collections.abc import Iterator

from docs.notebooks import Cell, Notebook


def notebook_page(notebook: Notebook) -> str:
    """The Markdown of a notebook."""
    return "\n".join(part for cell in notebook["cells"] for part in _parts(cell))


def _parts(cell: Cell) -> Iterator[str]:
    source = "".join(cell["source"])
    if cell["cell_type"] == "markdown":
        yield f"{source}\n"
        return
    yield f"```python\n{source}\n```\n"
    for output in cell["outputs"]:
        if output["output_type"] == "stream":
            yield f"```text\n{''.join(output['text'])}```\n"
        elif "text/html" in output["data"]:
            yield f"````{{raw}} html\n{''.join(output['data']['text/html'])}\n````\n"
        else:
            yield f"```text\n{''.join(output['data']['text/plain'])}\n```\n"
