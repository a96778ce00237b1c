"""Which page stands where on the site."""

from __future__ import annotations

from collections.abc import Mapping

TREE: Mapping[str, tuple[str, ...]] = {
    "Start": ("docs/tutorial.md", "examples/README.md", "examples/notebooks/README.md"),
    "How to": (
        "docs/uses.md",
        "docs/how_to/verify_a_schedule.md",
        "docs/how_to/find_a_schedule.md",
        "docs/how_to/plug_in_a_cost_model.md",
        "docs/how_to/write_a_pattern_or_strategy.md",
        "docs/tuning.md",
        "docs/halide_users.md",
        "docs/how_to/go_to_c.md",
        "docs/how_to/look_at_a_schedule.md",
        "docs/how_to/read_a_report.md",
        "docs/how_to/run_on_a_gpu.md",
    ),
    "Concepts": (
        "docs/spaces.md",
        "docs/promises.md",
        "docs/why.md",
        "docs/from_halide.md",
        "docs/halide.md",
        "docs/glossary.md",
    ),
    "Reference": (
        "docs/api.md",
        "docs/language.md",
        "docs/directives.md",
        "docs/rules.md",
        "docs/command_line.md",
        "docs/cost_terms.md",
    ),
    "Evidence": (
        "docs/papers.md",
        "docs/benchmarks.md",
        "docs/instructions.md",
        "docs/differential_fuzzing.md",
    ),
    "Project": ("CHANGELOG.md", "CONTRIBUTING.md", "docs/contributing/recipes.md"),
}
"""Captions of the table of contents, each with its pages. The page of entry is README."""

SPLIT = ("docs/api.md", "docs/rules.md")
"""Long pages: the site has a page for each of their parts (``##``)."""
