"""Tuning: searches that compile and run candidates, and learn from their times.

This layer stands above ``backend`` and ``spaces.enumerate``, and joins them: a strategy proposes
schedules, ``backend`` compiles and measures them, and the measured times train cost models. The
campaigns of [A21] section 6 (one-shot, top-5, iterate), a database of measurements and workers with
time limits belong here. There is no module yet.
"""
