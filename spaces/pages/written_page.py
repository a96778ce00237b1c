"""A page as one file that needs nothing from elsewhere."""

from __future__ import annotations

from pathlib import Path

from attrs import frozen


@frozen(repr=False)
class WrittenPage:
    """A page.

    Attributes:
        html: the text of the page: one file that needs nothing from elsewhere.
    """

    html: str

    def write(self, path: str | Path) -> None:
        """Writes the page to a file.

        Raises:
            OSError: the file cannot be written.
        """
        Path(path).write_text(self.html, "utf-8")

    @property
    def _size(self) -> str:
        """The bytes of the file, in words."""
        return f"{len(self.html.encode()):,} bytes"
