"""The settings of Sphinx. Fonts are those of the reader's system, so no page asks the network."""

from __future__ import annotations

import re
from pathlib import Path

project = "spaces"
_LIBRARY = Path(__file__).parents[2] / "spaces" / "__init__.py"
(release,) = re.findall(r'^__version__ = "(.*)"', _LIBRARY.read_text("utf-8"), re.MULTILINE)
html_title = f"spaces {release}"

extensions = ["myst_parser", "sphinx_copybutton"]
myst_heading_anchors = 4
highlight_language = "text"

html_theme = "furo"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sourcelink = False
html_show_copyright = False
# A browser does not let a page from the disk read others, so the search shows no summaries of them.
html_show_search_summary = False
copybutton_prompt_text = "$ "
# Colours with enough contrast for everybody (WCAG AAA).
pygments_style = "a11y-high-contrast-light"
pygments_dark_style = "a11y-high-contrast-dark"
