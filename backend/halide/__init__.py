"""Halide itself as a second oracle: it runs the same pipeline with the same directives.

============== ==============================================================================
`bridge` `build`: pipeline and schedule in Halide's Python package; `realize` runs them `isolated`
the same in a new process with a time limit, because Halide may crash `source` `halide_source`:
pipeline and schedule as a C++ function `calls` a schedule as directives that Halide knows
`definition` the algorithm as Halide's objects `directives` applies the directives to them
`expressions` expressions as Halide's `peer` the only importer of Halide's package (the extra
``halide``) `errors` their errors, all under `HalideFailure` ==============
==============================================================================

`source` needs no Halide; the import of `bridge` raises `HalideMissingError` if Halide is missing.
"""
