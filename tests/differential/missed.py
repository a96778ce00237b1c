"""Why a long run missed two bugs of wrong values, and what draws them now: text of the page."""

MISSED = ""
