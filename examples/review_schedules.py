"""Review schedules that others wrote: say which are legal for a device, and what mends the rest.

``python examples/review_schedules.py`` prints::

    rows: legal
    shared: illegal
      race.shared-storage at smooth
      mended: smooth.store_root() left out
    short: illegal
      order.factor at smooth
      mended: smooth.split(x, x, xi, 16) instead of split(x, x, xi, 0)
"""

import spaces
from spaces import Float32, Func, ImageParam, Var

SCHEDULES = {
    "rows": "edges.parallel(y).vectorize(x, 8); smooth.compute_at(edges, y).vectorize(x, 8)",
    "shared": "edges.parallel(y); smooth.store_root().compute_at(edges, y)",
    "short": "edges.vectorize(x, 8); smooth.compute_root().split(x, x, xi, 0)",
}


def pipeline() -> spaces.Pipeline:
    """Differences of means."""
    x, y = Var("x"), Var("y")
    image = ImageParam(Float32, 2, "image")
    smooth, edges = Func("smooth"), Func("edges")
    smooth[x, y] = (image[x, y] + image[x + 1, y]) / 2
    edges[x, y] = smooth[x, y + 1] - smooth[x, y]
    return spaces.pipeline(edges, estimates={edges: [640, 480], image: [641, 481]})


def main() -> None:
    """Prints a verdict on each schedule."""
    work, device = pipeline(), spaces.device("cpu")
    for name, text in SCHEDULES.items():
        schedule = spaces.parse_schedule(text, work)
        verdict = spaces.verify(work, schedule, device)
        print(f"{name}: {'legal' if verdict else 'illegal'}")
        for violation in verdict.violations:
            print(f"  {violation.rule} at {violation.func}")
        if not verdict:
            mended = spaces.repair(work, schedule, device)
            print("  mended:", str(mended).splitlines()[-1].strip())


if __name__ == "__main__":
    main()
