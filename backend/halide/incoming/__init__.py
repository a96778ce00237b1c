"""Pipelines of Halide as pipelines of this library, with their schedules.

=============== ================================================================================
`program`       `read_hlpipe`: a file becomes a `HalideProgram`, with or without Halide
`live`          `from_halide`: a Func or a Pipeline of Halide's Python package does
`roles`         which of Halide's Funcs are Funcs, and which stand for an image or a wrapper
`names`         the names that people wrote
`expressions`   expressions; `operators` lists intrinsics and functions
`arguments`     images, Params, arrays inside the file; their limits, strides and estimates
`definitions`   Funcs with their updates and reduction domains
`loops`         the splits, loops and hints of one stage
`levels`        where Funcs are computed and stored
`scheduling`    the schedule of the whole pipeline
`problems`      what cannot come in, all at once
=============== ================================================================================
"""
