"""``python run.pyz check|time``: the command line of a bundle's runner."""

from bench.gpu.runner.main import main

main()
