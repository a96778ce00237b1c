"""The measurements of cost models: scores, and models and errors that are fitted to times."""

import json
import math
import tomllib
from collections import Counter

import numpy as np
import pytest
from attrs import asdict, evolve

from bench import cost_quality
from bench.cost_quality import (
    again,
    devices,
    errors,
    first_found,
    fit,
    five,
    measured_sets,
    pricing,
    ranks,
    split,
    subjects,
)
from bench.cost_quality.random_pipelines import random_pipeline
from bench.cost_quality.records import records
from bench.cost_quality.scores import regret, spearman
from spaces.apps.gallery.catalog import GALLERY
from spaces.apps.gallery.kind import PipelineKind
from spaces.cost.batch import Batch
from spaces.cost.cpu.prices import FILE, Prices
from spaces.cost.cpu.reuse import Reuse
from spaces.cost.errors import PriceErrors
from spaces.cost.measurer import Measurement, RunOutcome
from spaces.cost.training import PricedRun
from spaces.enumerate.search.limits import Limits
from spaces.enumerate.search.search import best, search
from spaces.model.schedules.schedule import Schedule
from spaces.model.writing.text import format_schedule
from tests.cpus import FOUR_CORES, WIDE_VECTORS
from tests.measured_subject import FakeMeasurer, collecting, random_subject


@pytest.fixture(scope="module")
def subject():
    return random_subject()


def test_spearman_is_the_correlation_of_ranks():
    assert spearman([1, 2, 3], [10, 20, 1000]) == 1
    assert spearman([3, 2, 1], [10, 20, 1000]) == -1
    # Without ties 1 - 6 sum(d^2) / (n (n^2 - 1)); here the ranks differ by 1, 1, 1, 1 and 0.
    assert spearman([1, 2, 3, 4, 5], [2, 1, 4, 3, 5]) == pytest.approx(1 - 6 * 4 / 120)
    # Ranks 1.5 1.5 3 4 against 1 2 3 4: covariance 4.5, variances 4.5 and 5.
    assert spearman([7, 7, 8, 9], [1, 2, 3, 4]) == pytest.approx(4.5 / math.sqrt(4.5 * 5))
    assert spearman([1, 2, math.inf], [1, 2, math.inf]) == 1
    assert math.isnan(spearman([1, 1, 1], [1, 2, 3]))


def test_regret_is_that_of_the_fastest_among_the_cheapest():
    times = [4.0, 3.0, 9.0, 2.0, 8.0]
    assert regret([1, 2, 3, 4, 5], times, top=2) == 0.5
    assert regret([1, 2, 3, 4, 5], times, top=4) == 0
    assert regret([0, 0, 0, 0, 0], times, top=2) == 3  # ties count against the model: 9 and 8


def test_a_learned_model_never_sees_the_app_that_it_is_judged_on(subject, tmp_path):
    path = tmp_path / "all.jsonl"
    list(collecting(subject, path, FakeMeasurer(), wanted=8).batches())
    mine = pricing.timed(records(path))
    other = [evolve(one, subject="other", ratio=1.0) for one in mine]
    random = [evolve(one, subject="random_1", ratio=1.0) for one in mine]
    seen = []

    class Letters:
        def cost(self, batch):
            return np.array(float(len(format_schedule(batch.schedule, batch.pipeline))))

    def trained(known, device):
        assert device == ZEN_4
        seen.append({one.subject for one in known})
        return Letters()

    found = pricing.qualities({"mine": mine, "other": other}, random, {"letters": trained})
    assert seen == [{"other", "random_1"}, {"random_17", "random_1"}]
    assert found["mine"]["letters"] == pricing.Quality(1.0, 0.0)
    assert math.isnan(found["other"]["letters"].spearman)


def test_a_schedule_that_did_not_end_counts_as_the_slowest(subject, tmp_path):
    path = tmp_path / "all.jsonl"
    list(collecting(subject, path, FakeMeasurer(), wanted=8).batches())
    first, *rest = path.read_text().splitlines()
    hung = json.loads(first) | {"outcome": "hung", "ratio": None}
    wrong = json.loads(rest[0]) | {"outcome": "wrong", "ratio": None}
    path.write_text("\n".join(map(json.dumps, (hung, wrong))) + "\n" + "\n".join(rest[1:]) + "\n")
    found = pricing.timed(records(path))
    assert [one.ratio for one in found].count(math.inf) == 1
    assert len(found) == 7


def test_days_agree_in_ranks_and_in_what_is_fastest():
    """On the second day the first two change places, and one that hung ends."""
    found = pricing.timed(records(cost_quality.file_of("blur"))[:4])
    first = [evolve(one, ratio=r) for one, r in zip(found, (1.0, 2.0, 3.0, math.inf), strict=True)]
    same = again.agreement(first, {"ratios": [2.0, 4.0, 6.0, None]})
    assert same == (pytest.approx(1), 0)
    other = again.agreement(first, {"ratios": [2.0, 1.0, 3.0, 4.0]})
    assert other == (pytest.approx(0.8), 1)
    assert again.shown(other) == "Spearman 0.800, the fastest of the first day is 100.0% slower"


def test_every_kind_has_a_use_and_a_third_of_them_only_judge():
    assert split.USES.keys() == set(PipelineKind)
    used = Counter(split.USES.values())
    assert used[split.Use.JUDGE] * 3 >= len(PipelineKind)
    uses = {use: set(split.pipelines_to(use)) for use in split.Use}
    assert set.union(*uses.values()) == set(GALLERY)
    assert sum(map(len, uses.values())) == len(GALLERY)


def test_nothing_learns_from_pipelines_that_judge():
    for use in (split.Use.LEARN, split.Use.CHOOSE):
        split.refuse_judged([*split.pipelines_to(use), "blur", "random_3"])
    judged = split.pipelines_to(split.Use.JUDGE)
    for name in judged:
        with pytest.raises(split.JudgedPipelineError, match=f"^{name} must not be fitted to"):
            split.refuse_judged(["blur", name])


MEMORY = "lines from memory"

ZEN_4 = evolve(WIDE_VECTORS, model="znver4")
"""32 KiB and 1 MiB of a core, 32 MiB of a complex; vectors of 512 bits in two halves. At 32 MiB the
model ranks the apps as it did on that machine.
"""

ZEN_5 = evolve(ZEN_4, model="znver5", l1_bytes=48 << 10, unit_bits=512)

EMERALD_RAPIDS = evolve(ZEN_5, model="emeraldrapids", l2_bytes=2 << 20)


def test_committed_schedules_are_priced_for_the_processor_that_they_ran_on():
    ran_on = {
        "AMD EPYC (znver5)": ZEN_5,
        "Intel(R) Xeon(R) Processor (emeraldrapids)": EMERALD_RAPIDS,
    }
    committed = records(cost_quality.file_of("blur"))[:3]
    assert {one.cpu for one in committed} <= ran_on.keys()
    for name, cpu in ran_on.items():
        found = pricing.timed([evolve(one, cpu=name) for one in committed])
        assert pricing.common_device(found) == cpu
        prices = [float(Reuse(cpu).cost(Batch.of(one.pipeline, one.schedule))) for one in found]
        by_errors = [sum(parts.values()) for parts in errors.parts_of(found)]
        assert by_errors == pytest.approx(prices)


def test_a_schedule_of_an_unknown_processor_is_refused():
    (one,) = records(cost_quality.file_of("blur"))[:1]
    with pytest.raises(
        devices.UnknownProcessorError, match=r"on AMD EPYC \(znver9\) \(is AMD EPYC"
    ):
        pricing.timed([evolve(one, cpu="AMD EPYC (znver9)")])


def test_schedules_of_two_processors_are_not_priced_together():
    one, other = pricing.timed(records(cost_quality.file_of("blur"))[:2])
    one, other = evolve(one, device=ZEN_5), evolve(other, device=ZEN_4)
    with pytest.raises(devices.OtherProcessorError, match=r"znver5, .* and cpu: znver4"):
        pricing.common_device([one, other])
    with pytest.raises(ValueError, match="no measured schedule"):
        pricing.common_device([])


def test_a_processor_is_described_once(tmp_path):
    path = tmp_path / "devices.json"
    devices.describe("Zen 4", ZEN_4, path)
    devices.describe("Zen 5", evolve(ZEN_4, unit_bits=512), path)
    devices.describe("Zen 4", ZEN_4, path)
    assert devices.described(path) == {"Zen 4": ZEN_4, "Zen 5": evolve(ZEN_4, unit_bits=512)}
    before = path.read_bytes()
    with pytest.raises(devices.OtherProcessorError, match="Zen 4 with cores of 2 and not 8: "):
        devices.describe("Zen 4", evolve(ZEN_4, cores=8), path)
    assert path.read_bytes() == before


def test_nothing_is_measured_again_on_another_processor():
    found = pricing.timed(records(cost_quality.file_of("blur"))[:2])
    found = [evolve(one, device=ZEN_5) for one in found]
    with pytest.raises(devices.OtherProcessorError, match="measured on cpu: znver5, 2 cores"):
        again.measure_again("blur", found, ZEN_4)


def test_a_model_without_a_term_ranks_times_of_such_a_machine():
    """A machine whose memory costs nothing: the model without its lines ranks its times as they
    are.
    """
    found = pricing.timed(records(cost_quality.file_of("blur"))[:40])
    free = Reuse(pricing.common_device(found)).without(MEMORY)
    times = pricing.costs(free, found)
    of_machine = [evolve(one, ratio=time) for one, time in zip(found, times, strict=True)]
    measured = {("apps", "blur"): of_machine, ("random", "random_1"): of_machine[:19]}
    found = ranks.rank_without([(), (MEMORY,), (MEMORY, "stores")], measured)
    assert list(found) == ["nothing", MEMORY, f"{MEMORY}, stores"]
    for kind in ("apps", "random"):
        assert found[MEMORY][kind] == ranks.Ranks(pytest.approx(1), pytest.approx(1), 0)
        assert found["nothing"][kind].median < 0.999
    row = f"| {MEMORY} | 1.000 | 1.000 | 0.0% | 1.000 | 1.000 | 0.0% |"
    assert row in ranks.table(found).splitlines()


def test_quartiles_and_means_are_over_pipelines():
    found = ranks._ranks([(0.0, 0.5), (0.4, 0.1), (0.8, 0.0), (1.0, 0.2), (0.2, 0.2)])
    assert (found.median, found.quartile) == (0.4, 0.2)
    assert found.regret == pytest.approx(0.2)


def test_prices_of_the_file_are_prices():
    assert tomllib.loads(FILE.read_text("utf-8")).keys() <= asdict(Prices()).keys()


def test_no_fit_reads_pipelines_that_judge():
    name = split.pipelines_to(split.Use.JUDGE)[0]
    with pytest.raises(split.JudgedPipelineError, match=name):
        fit.runs_of({("judge", name): []}, ["judge"])


def test_each_pipeline_weighs_as_much_as_any_other_in_a_fit():
    batch = Batch.of(random_pipeline(17), Schedule.default(random_pipeline(17)))
    runs = [PricedRun("one", batch, seconds) for seconds in (1.0, 2.0, 4.0)]
    for emphasis, first in ((0.0, 1 / 3), (1.0, 4 / 7)):
        found = [one.weight for one in fit.weighted(runs, emphasis)]
        assert sum(found) == pytest.approx(1)
        assert found[0] == pytest.approx(first)


def test_a_fit_prices_each_run_for_its_own_processor():
    """Times that the model gives for two processors, at other prices than those of the library."""
    true = Prices(load=2 * Prices().load, line_from_memory=3 * Prices().line_from_memory)
    small = evolve(ZEN_4, l1_bytes=1 << 10, l2_bytes=4 << 10, l3_bytes=64 << 10, unit_bits=128)
    ran_on = {"one": ZEN_5, "other": small}
    found = pricing.timed(records(cost_quality.file_of("blur"))[:24])
    batches = [Batch.of(one.pipeline, one.schedule) for one in found]
    runs = {
        name: [PricedRun(name, one, float(Reuse(cpu, true).cost(one))) for one in batches]
        for name, cpu in ran_on.items()
    }
    assert fit.judge(true, runs, ran_on) == (pytest.approx(1), 0)
    fitted = fit.fit(runs, runs, ran_on, 0.0)
    assert fitted.spearman > max(0.97, fit.judge(Prices(), runs, ran_on)[0])
    wrong = dict(zip(ran_on, reversed(ran_on.values()), strict=True))
    assert fit.fit(runs, runs, wrong, 0.0).spearman < fitted.spearman


def test_a_fit_of_one_price_keeps_all_others():
    true = Prices(load=2 * Prices().load)
    found = pricing.timed(records(cost_quality.file_of("blur"))[:12])
    batches = [Batch.of(one.pipeline, one.schedule) for one in found]
    runs = {
        "blur": [PricedRun("blur", one, float(Reuse(ZEN_5, true).cost(one))) for one in batches]
    }
    fitted = fit.fit(runs, runs, {"blur": ZEN_5}, 0.0, ["load"])
    assert fitted.prices.load == pytest.approx(true.load, rel=0.1)
    assert evolve(fitted.prices, load=1.0) == Prices(load=1.0)
    written = tomllib.loads(fit.as_toml(fitted, runs, ["load"]))
    assert written.keys() == {"load", *tomllib.loads(FILE.read_text("utf-8"))}


def test_fitted_prices_are_read_as_they_are_written(tmp_path):
    prices = Prices(load=1.25, stall=0.0)
    text = fit.as_toml(fit.Fit(0.5, prices, 0.8, 0.1), {"blur": []})
    path = tmp_path / "prices.toml"
    path.write_text(text, "utf-8")
    assert first_found.read_prices(path) == prices


def test_the_fastest_of_all_has_no_regret(monkeypatch):
    """A search that finds the fastest, one that finds another, and one whose first hangs."""
    found = pricing.timed(records(cost_quality.file_of("unsharp"))[:40])

    model = Reuse.of(FOUR_CORES)
    space = subjects.space_of(found[0].pipeline)
    done = {
        type(made): best(search(space, made, limits=Limits(top=5)))
        for made in (model, first_found.WithoutErrors(model))
    }
    monkeypatch.setattr(first_found, "search", lambda _, made, limits: iter([done[type(made)]]))
    searched = [[one.schedule for one in each.best] for each in done.values()]
    assert searched[0][0] == searched[1][0]
    by_errors = next(one for one in searched[0] if one not in searched[1])
    by_price = next(one for one in searched[1] if one not in searched[0])

    def regrets_with(**ratios):
        """With the ratio of the first schedule, of others of each search, and of all others."""

        class Fake:
            def __enter__(self):
                return self

            def __exit__(self, *_):
                return None

            def measure(self, pipeline, schedules):
                assert len(schedules) == len(set(schedules))
                told = dict.fromkeys(schedules, (ratios["others"],))
                told[by_price] = (ratios["by_price"],)
                told[by_errors] = (ratios["by_errors"],)
                told[searched[0][0]] = (ratios["first"],)
                return [
                    Measurement(one, RunOutcome.CORRECT, "", ratio, (1.0,), 0.1)
                    for one, ratio in told.items()
                ]

        monkeypatch.setattr(first_found, "measurer_of", lambda subject: Fake())
        return first_found.regrets_of_search("harris", found, model)

    assert regrets_with(first=1.0, by_errors=1.1, by_price=1.2, others=1.3) == first_found.Regrets(
        0, 0, 0
    )
    slower = regrets_with(first=3.0, by_errors=1.0, by_price=1.5, others=2.0)
    assert slower == first_found.Regrets(2, 0, 0.5)
    hung = regrets_with(first=math.inf, by_errors=1.5, by_price=1.0, others=2.0)
    assert hung == first_found.Regrets(math.inf, 0.5, 0)
    assert "1 above 30%" in first_found.summary([0.0, 0.5, 0.1])


def test_a_fit_of_errors_finds_those_that_made_the_times():
    """Times drawn with known errors; all of a pipeline are off by one more number."""
    true = PriceErrors(spread=0.5, reach=0.8, own=0.06)
    drawn = np.random.default_rng(4)
    learned = []
    for _ in range(80):
        names = [("f", 0, "compute"), ("g", 0, "compute"), ("g", 0, "from_memory")]
        unlike = [dict(zip(names, drawn.lognormal(3, 0.4, 3), strict=True)) for _ in range(5)]
        prices = [*unlike, *unlike]  # twins, which differ in what is their own
        logs = drawn.multivariate_normal(np.full(10, drawn.normal(0, 5)), true.covariance(prices))
        learned.append(errors.Errors(prices, logs))
    found = errors.fit(learned)
    for name, known in asdict(true).items():
        assert getattr(found.errors, name) == pytest.approx(known, rel=0.3)
    assert found.tail > 8  # no pipeline is more wrong than others
    assert tomllib.loads(errors.as_toml(found, learned)) == pytest.approx(
        asdict(found.errors), rel=0.005
    )


def test_the_likelihood_of_two_errors_is_that_of_their_difference():
    """With two schedules a number is left: the density of Student's t is known."""
    prices = [{("f", 0, "compute"): 1.0}, {("g", 0, "compute"): 1.0}]
    fitted = errors.Fitted(PriceErrors(spread=0.3, reach=1.0, own=0.4), 1.0)
    found = errors.Errors(prices, np.array([3.0, 3.2]))
    scaled = 0.2 / math.sqrt(2) / 0.5
    by_hand = math.log(1 / (math.pi * (1 + scaled**2)) / 0.5)
    assert fitted.log_likelihood([found]) == pytest.approx(by_hand)


def test_no_errors_are_read_from_pipelines_that_judge():
    with pytest.raises(split.JudgedPipelineError, match="must not be fitted to"):
        errors.errors_of({(measured_sets.MeasuredSet.JUDGE, "palette"): []}, ["judge"])


def test_five_are_compared_with_the_five_cheapest():
    """Five near twins take 1 of a reference, an unlike schedule half of it."""

    def part(name, cost):
        return {(name, 0, "compute"): cost}

    twins = [(10 + n / 100, part("f", 10 + n / 100), 1.0) for n in range(5)]
    unlike = (10.5, part("g", 10.5), 0.5)
    slow = (90.0, part("g", 90.0), 0.1)
    one = five.compare([*twins, unlike, slow], 2.0)
    assert one == five.Regrets(1, (1.0, 1.0, 0.0), (1.0, 1.0, 0.0))
    assert five.compare([*twins, slow], 2.0).cases == 0
    figures = five.summary([one, five.Regrets(3, (0.0, 0.0, 0.0), None)])
    assert (figures["pipelines"], figures["cases"]) == (2, 4)
    assert figures["all_cases"]["cheapest"]["mean"] == 0.5
    assert figures["from_the_cheapest"]["cheapest"]["mean"] == 1.0
