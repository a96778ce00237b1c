"""Tuning: searches that compile and run candidates, and learn from their times.

This layer stands above ``backend`` and ``spaces.enumerate``, and joins them. A strategy proposes
schedules, a measurer compiles and times them, and a store keeps what became of each. The results
guide what is proposed next, as in [A21] section 6.
"""
