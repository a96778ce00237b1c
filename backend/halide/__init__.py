"""Halide itself: a second oracle, the other side of comparisons, and where pipelines come from.

To Halide: `bridge` builds a pipeline with a schedule in Halide's Python package and runs it.
`isolated` does so in a new process with a time limit, because Halide may crash. `autoschedule` asks
Halide's autoschedulers. `source` writes a C++ function, and `schedule_source` one of a schedule
alone. `outgoing` puts schedules on Halide's objects that exist already. They stand on `calls` (a
schedule as directives that Halide knows), `directives` (applies them), `definition` (the algorithm
as Halide's objects) and `expressions`.

From Halide: `incoming` reads pipelines and schedules, by way of the files that `file` decodes;
`found_schedule` reads what autoschedulers write; `meaning` says what Halide does with both.

`peer` is the only importer of Halide's package (the extra ``halide``), and raises
`HalideMissingError` without it. `source`, `file` and `incoming`, but for live objects, need no
Halide. All errors of Halide's side are a `HalideFailure` (`errors`).
"""
