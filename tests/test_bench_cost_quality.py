"""The measurements of cost models: schedules that are drawn alike, files that grow, scores."""

import json
import math
import tomllib
from collections import Counter
from itertools import islice

import numpy as np
import pytest
from attrs import asdict, evolve

from bench import cost_quality
from bench.cost_quality import (
    again,
    errors,
    first_found,
    fit,
    five,
    incumbents,
    measured_sets,
    pricing,
    ranks,
    split,
    subjects,
)
from bench.cost_quality.brief import SharedTime
from bench.cost_quality.collecting import BATCH, Collecting, collect
from bench.cost_quality.drawing import LONGEST_WALK, Drawing, Origin
from bench.cost_quality.random_pipelines import FAMILIES, by_name, random_pipeline
from bench.cost_quality.records import append, records
from bench.cost_quality.scores import regret, spearman
from bench.cost_quality.single_pipelines import IDEAS, single_pipeline
from bench.cost_quality.subjects import Subject
from spaces.apps.gallery.catalog import GALLERY
from spaces.apps.gallery.kind import PipelineKind
from spaces.backend.measuring.session import MeasuringError
from spaces.backend.reference import evaluate
from spaces.constraints.devices.device import device
from spaces.constraints.legality.verify import verify
from spaces.cost.batch import Batch
from spaces.cost.cpu.prices import FILE, Prices
from spaces.cost.cpu.reuse import Reuse
from spaces.cost.errors import PriceErrors
from spaces.cost.measurer import Measurement, RunOutcome
from spaces.cost.training import PricedRun
from spaces.enumerate.search.limits import Limits
from spaces.enumerate.search.search import best, search
from spaces.enumerate.space.empty_space import EmptySpaceError
from spaces.model.schedules.schedule import Schedule
from spaces.model.writing.serialize import to_json
from spaces.model.writing.text import format_schedule, parse_schedule
from tests.examples import some


class Killed(Exception):
    """Stands for the end of a process."""


class FakeMeasurer:
    """Says that each schedule takes as many seconds as its text has letters; ends at a batch."""

    def __init__(self, batches=math.inf):
        self.batches = batches
        self.asked = []

    def measure(self, pipeline, schedules):
        if self.batches == 0:
            raise Killed
        self.batches -= 1
        texts = [format_schedule(one, pipeline) for one in schedules]
        self.asked += texts
        return [
            Measurement(one, RunOutcome.CORRECT, "", (len(text) + 1.0,) * 3, (2.0,) * 3, 0.1)
            for one, text in zip(schedules, texts, strict=True)
        ]


@pytest.fixture(scope="module")
def subject():
    pipeline = random_pipeline(17)
    space = subjects.space_of(pipeline)
    plain = Schedule.default(pipeline)
    return Subject(pipeline.name, pipeline, space, plain, space.sample(2, seed=3))


def collecting(subject, path, measurer, wanted=20):
    drawing = Drawing(subject.space, subject.good)
    return Collecting(subject, drawing, measurer, path, wanted, "a processor")


def test_schedules_depend_on_their_numbers_alone_and_are_legal(subject):
    drawing = Drawing(subject.space, subject.good)
    found = {number: drawing.schedule(number) for number in range(8)}
    again = Drawing(subjects.space_of(subject.pipeline), subject.good)
    for number in reversed(range(8)):
        assert again.schedule(number) == found[number]
        assert verify(subject.pipeline, found[number], device("cpu"))
        assert found[number] in subject.space
    others = Drawing(subject.space, subject.good, seed=1)
    assert [others.schedule(number) for number in range(8)] != list(found.values())


def test_half_of_the_schedules_are_near_good_ones(subject):
    assert [Drawing.origin(n) for n in range(4)] == [Origin.DRAW, Origin.WALK] * 2
    drawing = Drawing(subject.space, subject.good[:1])
    start = {one.name: one for one in subject.good[0].funcs}
    for number in range(1, 9, 2):
        walked = drawing.schedule(number)
        changed = [one.name for one in walked.funcs if one != start[one.name]]
        assert len(changed) <= 2 * LONGEST_WALK


def test_a_run_that_was_killed_goes_on_where_it_was(subject, tmp_path):
    whole, killed = tmp_path / "whole.jsonl", tmp_path / "killed.jsonl"
    assert list(collecting(subject, whole, FakeMeasurer()).batches())[-1] == 20
    with pytest.raises(Killed):
        list(collecting(subject, killed, FakeMeasurer(batches=1)).batches())
    assert len(records(killed)) == BATCH
    with killed.open("a") as file:
        file.write('{"subject": "random_17", "num')  # the process ended within a line
    rest = FakeMeasurer()
    list(collecting(subject, killed, rest).batches())
    assert len(rest.asked) == 20 - BATCH
    assert killed.read_text() == whole.read_text()
    nothing = FakeMeasurer(batches=0)
    assert not list(collecting(subject, killed, nothing).batches())


def test_no_schedule_is_measured_twice_and_records_say_what_was_measured(subject, tmp_path):
    path = tmp_path / "all.jsonl"
    measurer = FakeMeasurer()
    list(collecting(subject, path, measurer).batches())
    assert len(set(measurer.asked)) == len(measurer.asked) == 20
    found = records(path)
    assert [one.schedule for one in found] == measurer.asked
    for one in found:
        seconds = len(one.schedule) + 1.0
        assert (one.median_seconds, one.fastest_seconds, one.runs) == (seconds, seconds, 3)
        assert one.ratio == pytest.approx(seconds / 2)
        assert verify(
            subject.pipeline, parse_schedule(one.schedule, subject.pipeline), device("cpu")
        )
    append(path, found[:1])
    assert records(path) == [*found, found[0]]


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


def test_slow_schedules_get_fewer_rounds():
    rounds = SharedTime()
    assert rounds.survivors({"fast": [1.0] * 14, "slow": [25.0], "middle": [4.0] * 4}) == {
        "fast",
        "middle",
    }
    assert rounds.survivors({"middle": [4.0] * 5}) == set()


def test_a_learned_model_never_sees_the_app_that_it_is_judged_on(subject, tmp_path):
    path = tmp_path / "all.jsonl"
    list(collecting(subject, path, FakeMeasurer(), wanted=8).batches())
    mine = pricing.timed(records(path))
    other = [pricing.Timed("other", *(one.pipeline, one.schedule, 1.0)) for one in mine]
    random = [pricing.Timed("random_1", *(one.pipeline, one.schedule, 1.0)) for one in mine]
    seen = []

    class Letters:
        def cost(self, batch):
            return np.array(float(len(format_schedule(batch.schedule, batch.pipeline))))

    def trained(known):
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


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("seed", some(range(6)))
def test_random_pipelines_come_from_their_names_and_evaluate(seed, family):
    made = random_pipeline(seed, family)
    again, other = by_name(f"{family}_{seed}"), random_pipeline(seed + 1, family)
    assert to_json(made) == to_json(again) != to_json(other)
    assert verify(made, Schedule.default(made), device("cpu"))
    fewest, most = FAMILIES[family].stages
    assert fewest <= len([f for f in made.functions if f.name[1:].isdecimal()]) <= most
    dice = np.random.default_rng(0)
    inputs = {}
    for image in made.images:
        assert 0.45e6 <= math.prod(extent for _, extent in made.estimate(image.name)) <= 2e6
        inputs[image.name] = dice.integers(0, 200, (20, 24)).astype(image.type.dtype)
    (output,) = made.outputs
    found = evaluate(made, inputs, sizes={output: [4, 4]})
    assert found[output].shape == (4, 4)
    assert np.isfinite(found[output].astype(float)).all()


def test_names_of_no_random_pipeline_get_a_sentence():
    for name in ("blur", "random", "random_x", "other_3"):
        with pytest.raises(ValueError, match="the first ones are random_0, varied_0, single_0"):
            by_name(name)


def test_varied_pipelines_read_several_images_and_have_updates_of_all_kinds():
    made = [random_pipeline(seed, "varied") for seed in range(20)]
    assert {len(one.images) for one in made} == {1, 2, 3}
    names = {function.name for one in made for function in one.functions}
    assert any(name.endswith("_counts") for name in names)
    updates = [s for one in made for f in one.functions for s in f.stages[1:]]
    assert {len(stage.rvars) for stage in updates} == {1, 2}


@pytest.mark.parametrize("seed", range(len(IDEAS)))
def test_pipelines_of_one_idea_are_made_from_their_seed_and_are_legal(seed):
    made, later = (single_pipeline(seed + turn * len(IDEAS)) for turn in (0, 1))
    assert made == by_name(f"single_{seed}")
    assert to_json(made) != to_json(later)
    assert verify(made, Schedule.default(made), device("cpu"))


def test_the_seeds_give_different_pipelines_with_all_kinds_of_stages():
    made = [by_name(name) for name in islice(subjects.RANDOM, 30)]
    assert len({to_json(one) for one in made}) == 30
    assert any(len(function.stages) > 1 for one in made for function in one.functions)
    halved = [one for one in made if one.estimate(one.outputs[0]) != one.estimate("image")]
    assert halved
    assert len(halved) < 30


def test_days_agree_in_ranks_and_in_what_is_fastest():
    """On the second day the first two change places, and one that hung ends."""
    found = pricing.timed(records(cost_quality.file_of("blur"))[:4])
    first = [evolve(one, ratio=r) for one, r in zip(found, (1.0, 2.0, 3.0, math.inf), strict=True)]
    same = again.agreement(first, {"ratios": [2.0, 4.0, 6.0, None]})
    assert same == (pytest.approx(1), 0)
    other = again.agreement(first, {"ratios": [2.0, 1.0, 3.0, 4.0]})
    assert other == (pytest.approx(0.8), 1)
    assert again.shown(other) == "Spearman 0.800, the fastest of the first day is 100.0% slower"


def test_good_schedules_come_first_and_are_all_measured(subject, tmp_path):
    plain = Schedule.default(subject.pipeline)
    drawing = Drawing(subject.space, subject.good, [plain])
    assert [drawing.schedule(n) for n in drawing.numbers_of_good] == [*subject.good, plain]
    path, measurer = tmp_path / "all.jsonl", FakeMeasurer()
    list(Collecting(subject, drawing, measurer, path, 8, "a processor").batches())
    found = records(path)
    assert [one.origin for one in found[:3]] == [Origin.GOOD] * 3
    assert len(found) == 8
    few = tmp_path / "few.jsonl"
    list(Collecting(subject, drawing, FakeMeasurer(), few, 1, "a processor").batches())
    assert len(records(few)) == 3


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


def test_incumbents_are_those_of_several_searches_and_legal_ones_of_halide(monkeypatch):
    pytest.importorskip("halide", reason="the extra `halide` is not installed")
    monkeypatch.setattr(incumbents, "SEARCHES", (("stagewise", "reuse"), ("stagewise", "weighted")))
    monkeypatch.setattr(incumbents, "AUTOSCHEDULERS", ("Mullapudi2016",))
    pipeline = GALLERY["frame_differences"].pipeline()
    found = incumbents.incumbents(subjects.space_of(pipeline))
    assert len(set(found)) == len(found) > incumbents.TOP
    for one in found:
        assert verify(pipeline, one, device("cpu"))


def test_committed_measurements_can_be_read():
    for app in subjects.APPS:
        found = records(cost_quality.file_of(app))
        assert {one.subject for one in found} <= {app}
        assert len({one.number for one in found}) == len(found)


MEMORY = "lines from memory"


def test_a_model_without_a_term_ranks_times_of_such_a_machine():
    """A machine whose memory costs nothing: the model without its lines ranks its times as they
    are.
    """
    found = pricing.timed(records(cost_quality.file_of("blur"))[:40])
    free = Reuse.of(device("cpu")).without(MEMORY)
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


def shortened(path, folder):
    """The first record of each pipeline and outcome in a file, in a file of their own."""
    lines = {}
    for line in path.read_text("utf-8").splitlines():
        one = json.loads(line)
        lines.setdefault((one["subject"], one["outcome"]), line)
    made = folder / path.name
    made.write_text("\n".join(lines.values()) + "\n", "utf-8")
    return made


def test_measured_schedules_are_in_the_set_of_their_pipeline(tmp_path):
    files = [cost_quality.file_of("blur"), cost_quality.gallery_file_of("equalize_16")]
    found = measured_sets.by_pipeline(shortened(one, tmp_path) for one in files)
    kinds = {name: kind for kind, name in found}
    assert kinds["blur"] == "apps"
    use = split.USES[GALLERY["equalize_16"].kind]
    assert kinds["equalize_16"] == use.value
    assert measured_sets.by_pipeline([shortened(cost_quality.RANDOM_FILE, tmp_path)]).keys() == {
        ("random", name) for name in subjects.RANDOM
    }


def test_a_pipeline_that_cannot_be_measured_does_not_end_a_run(subject, tmp_path, monkeypatch):
    """One without schedules, one whose reference does not run, and one that is measured."""

    class Measuring(FakeMeasurer):
        def __enter__(self):
            return self

        def __exit__(self, *_):
            return None

        def close(self):
            return None

    class Broken(Measuring):
        def measure(self, pipeline, schedules):
            raise MeasuringError("the reference hangs")

    def subject_of(name):
        if name == "empty":
            raise EmptySpaceError("nothing is legal")
        return evolve(subject, name=name)

    made = {"broken": Broken(), "good": Measuring()}
    monkeypatch.setattr("bench.cost_quality.collecting.measurer_of", lambda one: made[one.name])
    names = ["empty", "broken", "good"]
    collect(names, subject_of, lambda name: tmp_path / name, 4, together=1)
    assert [len(records(tmp_path / name)) >= 4 for name in names] == [False, False, True]


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


def test_fitted_prices_are_read_as_they_are_written(tmp_path):
    prices = Prices(load=1.25, stall=0.0)
    text = fit.as_toml(fit.Fit(0.5, prices, 0.8, 0.1), {"blur": []})
    path = tmp_path / "prices.toml"
    path.write_text(text, "utf-8")
    assert first_found.read_prices(path) == prices


def test_the_fastest_of_all_has_no_regret(monkeypatch):
    """A search that finds the fastest, one that finds another, and one whose first hangs."""
    found = pricing.timed(records(cost_quality.file_of("unsharp"))[:40])

    model = Reuse.of(device("cpu"))
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
