"""Let a search follow a cost model of your own, and ask it why it prefers a schedule.

``python examples/own_cost_model.py`` prints::

    root
    └─ parallel blur_y.y
       └─ for blur_y.yi
          └─ for blur_y.x
             └─ vectorized blur_y.xv
                └─ compute blur_y
                   └─ inline blur_x
    9.216e+07 by Traffic
      blur_y  100.0%  9.216e+07: bytes 6.14e+07, evaluations 3.07e+07
    1.84358e+08 by Traffic
      blur_x   50.0%  9.22e+07: bytes 6.15e+07, evaluations 3.07e+07
      blur_y   50.0%  9.216e+07: bytes 6.14e+07, evaluations 3.07e+07
"""

import spaces
from spaces import Options, ScheduleSpace


class Traffic:
    """Counts bytes that are stored, and evaluations that are repeated."""

    def cost(self, batch):
        """The sum of the parts: lower is better."""
        parts = self.parts(batch.features).values()
        return batch.full(sum(sum(of_stage.values()) for of_stage in parts))

    def parts(self, features):
        """What ``spaces.price`` and ``spaces.explain`` show, by Func and number of the stage."""
        return {
            (func.name, 0): {
                "bytes": func.stores * func.bytes,
                "evaluations": sum(stage.points for stage in func.stages),
            }
            for func in features.funcs
        }


def main() -> None:
    """Searches with the model, and compares what it finds with computing everything at root."""
    blur, device = spaces.APPS["blur"].pipeline(), spaces.device("cpu")
    few = Options(row_tiles=(64,), tiles=(8, 32), lanes=(1,))
    found = spaces.best(spaces.search(ScheduleSpace(blur, device, few), Traffic(), "exhaustive"))
    print(spaces.format_tree(spaces.schedule_tree(blur, found.best[0].schedule)))

    first = spaces.verify(blur, found.best[0].schedule, device)
    at_root = spaces.verify(blur, spaces.parse_schedule("blur_x.compute_root()", blur), device)
    print(spaces.price(first, Traffic()))
    print(spaces.price(at_root, Traffic()))


if __name__ == "__main__":
    main()
