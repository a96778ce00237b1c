"""What a process that measures imports and compiles before its first task, except threads.

The first pipeline that a process compiles takes 0.1 s longer than others.
"""

from spaces import CheckedSchedule, Schedule, device, verify
from spaces.backend.compile import compile_cpu
from spaces.backend.measuring import worker
from tests.backend.measuring import saboteurs
from tests.enumerate.pipelines import copied

__all__ = ["saboteurs", "worker"]

_COPIED = copied(960)
_checked = verify(_COPIED, Schedule.default(_COPIED), device("cpu"))
assert isinstance(_checked, CheckedSchedule), str(_checked)
compile_cpu(_checked)
