"""Find a schedule for a GPU, look at its kernels, and prove that threads do not get in each
other's way. No GPU is needed.

``python examples/kernels_for_a_gpu.py`` prints::

    mean.gpu_tile(x, y, xt, yt, 32, 8)
    across.compute_at(mean, x).gpu_threads(x, y)
    mean_kernel: block (32, 10, 1), 1280 bytes shared
    21 of 21 claims proven for every image size
"""

import spaces
from spaces import Float32, Func, ImageParam, Options, Var


def pipeline() -> spaces.Pipeline:
    """A mean over 3 x 3 pixels, in two steps."""
    x, y = Var("x"), Var("y")
    image = ImageParam(Float32, 2, "image")
    across, mean = Func("across"), Func("mean")
    across[x, y] = (image[x, y] + image[x + 1, y] + image[x + 2, y]) / 3
    mean[x, y] = (across[x, y] + across[x, y + 1] + across[x, y + 2]) / 3
    return spaces.pipeline(mean, estimates={mean: [2048, 2048], image: [2050, 2050]})


def main() -> None:
    """Searches schedules that share rows between threads, and compiles the best."""
    work, gpu = pipeline(), spaces.device("sm_90")
    shared = spaces.ScheduleSpace(
        work, gpu, Options.small(gpu), where=[spaces.shared_bytes("mean") > 0]
    )
    found = spaces.best(spaces.search(shared)).best[0]
    print(spaces.format_schedule(found.schedule, work))

    checked = spaces.verify(work, found.schedule, gpu)
    for kernel in spaces.compile_gpu(checked).kernels:
        print(f"{kernel.name}: block {kernel.block}, {kernel.static_shared_bytes} bytes shared")
    report = spaces.prove(checked)
    print(f"{len(report.proven)} of {len(report.proofs)} claims proven for every image size")


if __name__ == "__main__":
    main()
