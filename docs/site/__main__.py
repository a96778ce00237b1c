"""Builds the site: ``python -m docs.site`` writes it to ``out/site``, without a network.

Open ``out/site/index.html`` from the disk; the search works there, too.
"""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

from docs.site.sources import ROOT, sources

SITE = Path("out/site")
WORK = Path("out/site_work")
"""Markdown and parsed pages; a page that has not changed is not read again."""


def main() -> None:
    """Writes the sources, and lets Sphinx make pages of them; a warning is an error."""
    missing = [name for name in ("sphinx", "myst_parser", "furo") if find_spec(name) is None]
    if missing:
        sys.exit("The site needs further packages; install them with pip install '.[site]'.")
    folder = ROOT / WORK / "sources"
    _write(folder, sources())
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-j", "2"]
    command += ["-c", str(Path(__file__).parent), "-d", str(ROOT / WORK / "parsed")]
    done = subprocess.run([*command, str(folder), str(ROOT / SITE)], cwd=ROOT, check=False)
    if done.returncode:
        sys.exit(done.returncode)
    print(SITE / "index.html")


def _write(folder: Path, pages: dict[str, str]) -> None:
    """Writes pages that differ from those in the folder, and removes what is no page any more."""
    for path in folder.rglob("*.md"):
        if str(path.relative_to(folder)) not in pages:
            path.unlink()
    for place, text in pages.items():
        path = folder / place
        if not path.exists() or path.read_text("utf-8") != text:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, "utf-8")


if __name__ == "__main__":
    main()
