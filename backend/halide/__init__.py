"""Halide itself as a second oracle: the same pipeline with the same directives, run there.

==============  ==============================================================================
`bridge`        `build`: pipeline and schedule in Halide's Python package; `realize` runs them
`isolated`      the same in a process of its own, with a time limit, where Halide may crash
`source`        `halide_source`: pipeline and schedule as a C++ function
`calls`         a schedule as the directives that Halide knows
`definition`    the algorithm in Halide's objects
`directives`    the directives put on them
`expressions`   expressions as Halide's
`peer`          the only importer of Halide's package (the extra ``halide``)
`errors`        what they raise, all under `HalideFailure`
==============  ==============================================================================

`source` needs no Halide; `bridge` raises `HalideMissingError` on import where there is none.
"""
