"""Why a long run missed two bugs of wrong values, and what draws them now: text of the page."""

_WHY = """\
## What 61,000 cases missed

The run of seed 1001 found nothing wrong while the code had two bugs that give wrong values.

**Windows along two loops.** A Func is stored outside the loops of its reader, so that iterations
keep what earlier ones computed:

```python
s[w, y] = w + 10 * y + 1
m[w, y] = s[w, y] * 2
f[y] = m[y, y] + m[y + 1, y]
# m.compute_at(f, y); s.compute_at(m, y).store_root();
```

Each iteration of `f` needs another row of `s`, but only the new column was computed. A case shows
this bug if it has four things at once: a chain of three Funcs that are not inlined; a read in which
one Var moves two coordinates, or the range of an inner loop that depends on an outer one; a Func
computed in a loop of a Func that is itself in a loop; and a store level outside both. The run could
draw each of them alone. It drew coordinates independently of each other, so a shared Var was an
accident. It put store levels next to compute levels, and it made many loops parallel or vectorized,
along which no window slides. The table of pairs could not show this. It counted "stored outside"
and "of several Vars", and they met in 1,095 legal cases; it had no construct for a store level
outside of another Func's loops, and no pair says that four things met in one chain. No case was
proven, although `prove` refutes such a schedule without drawing a size.

**Arrays with gaps beside kernels.** A GPU schedule may leave a part to the host: an update without
loops of a GPU, or a whole Func. The host computed with the strides of dense arrays, also where the
caller's array is padded, mirrored or every second row of another. The run could not draw this at
all. All images were dense in memory. Outputs had gaps on CPUs alone. Kernels and host parts were
interpreted over flat memory with dense strides, which never calls the function at fault; one GPU
case in 200 did call it, with dense arrays.

What draws them now:
"""

DRAWN_BY = {
    ("place: diagonal", "place: sheared"): "coordinates of one place that are drawn together; the "
    "families `diagonal` and `sheared` are chains of such reads",
    ("place: two taps",): "two reads a fixed distance apart",
    ("place: of equal limits",): "sums, differences and other operators of two different values "
    "that are clamped to the same limits",
    (
        "level: inside a level",
        "level: stored outside of a level",
    ): "schedules that place most "
    "Funcs in loops of the innermost reader, store them outside and keep most loops serial: 30 % "
    "of all, 80 % where coordinates move together",
    ("input memory", "output memory"): "a layout for each array: padded, mirrored along rows or "
    "columns, every second row or column, transposed; memory beside an output must stay as it was",
    ("host: a Func", "host: a pure stage", "host: an update"): "GPU schedules that leave stages to "
    "the host; the whole host program runs on the arrays of the case, and its kernels are "
    "interpreted",
    ("values: unread component",): "a Tuple with a component that no other Func reads",
    ("outputs: empty beside others", "outputs: of one element beside others"): "sizes at which one "
    "output is small",
}
"""How constructs are drawn that the run did not have, in words; a group stands for all of it."""

_FOUND = """\
Each legal schedule is proven too: an obligation that `prove` refutes fails the case. On the code
with both bugs, the new draws found the host's strides within 30 cases, and a wrong window after
about 1,300. They also drew two other forms of the wrong window, along a fused loop and through a
wrapper.
"""

_ROWS = (f"| {', '.join(f'`{name}`' for name in names)} | {by} |" for names, by in DRAWN_BY.items())
MISSED = "\n".join((_WHY, "| construct | drawn by |", "| --- | --- |", *_ROWS, "", _FOUND))
"""A section of the page."""
