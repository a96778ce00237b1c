"""The public names of the library, by use; ``spaces.public_names`` reads this file, too."""

__version__: str
__all__: list[str]

# Writing an algorithm
from spaces.model.algorithm.func import (
    Func as Func,
    Tuple as Tuple,
)
from spaces.model.algorithm.var import Var as Var
from spaces.model.algorithm.rdom import RDom as RDom
from spaces.model.algorithm.image_param import ImageParam as ImageParam
from spaces.model.algorithm.param import Param as Param
from spaces.model.algorithm.foreign import (
    ForeignArray as ForeignArray,
    know_callable as know_callable,
)
from spaces.model.expressions.expr import (
    Expr as Expr,
    ExprLike as ExprLike,
)
from spaces.model.algorithm.freeze import pipeline as pipeline
from spaces.model.algorithm.pipeline import Pipeline as Pipeline
from spaces.model.expressions.definition_error import DefinitionError as DefinitionError

# Element types
from spaces.model.expressions.types import (
    Type as Type,
    Bool as Bool,
    Int8 as Int8,
    Int16 as Int16,
    Int32 as Int32,
    Int64 as Int64,
    UInt8 as UInt8,
    UInt16 as UInt16,
    UInt32 as UInt32,
    UInt64 as UInt64,
    Float32 as Float32,
    Float64 as Float64,
)

# Choosing, limiting and requiring
from spaces.model.expressions.functions import (
    select as select,
    mux as mux,
    min as min,
    max as max,
    clamp as clamp,
)
from spaces.model.expressions.integer_functions import (
    lerp as lerp,
    likely as likely,
    likely_if_innermost as likely_if_innermost,
)
from spaces.model.algorithm.undefined import undef as undef
from spaces.model.algorithm.require import require as require

# Converting
from spaces.model.expressions.expr import cast as cast
from spaces.model.expressions.integer_functions import (
    saturating_cast as saturating_cast,
    reinterpret as reinterpret,
    extract_bits as extract_bits,
)
from spaces.model.expressions.conversions import (
    i8 as i8,
    i16 as i16,
    i32 as i32,
    i64 as i64,
    u8 as u8,
    u16 as u16,
    u32 as u32,
    u64 as u64,
    f32 as f32,
    f64 as f64,
    i8_sat as i8_sat,
    i16_sat as i16_sat,
    i32_sat as i32_sat,
    i64_sat as i64_sat,
    u8_sat as u8_sat,
    u16_sat as u16_sat,
    u32_sat as u32_sat,
    u64_sat as u64_sat,
)

# Real functions
from spaces.model.expressions.functions import (
    abs as abs,
    sqrt as sqrt,
    exp as exp,
    log as log,
    pow as pow,
    sin as sin,
    cos as cos,
    tan as tan,
    asin as asin,
    acos as acos,
    atan as atan,
    atan2 as atan2,
    sinh as sinh,
    cosh as cosh,
    tanh as tanh,
    asinh as asinh,
    acosh as acosh,
    atanh as atanh,
    hypot as hypot,
    floor as floor,
    ceil as ceil,
    round as round,
    trunc as trunc,
    fract as fract,
)
from spaces.model.expressions.integer_functions import (
    is_finite as is_finite,
    is_inf as is_inf,
    is_nan as is_nan,
)
from spaces.model.expressions.approximations import (
    fast_exp as fast_exp,
    fast_log as fast_log,
    fast_pow as fast_pow,
    fast_sin as fast_sin,
    fast_cos as fast_cos,
    fast_inverse as fast_inverse,
    fast_inverse_sqrt as fast_inverse_sqrt,
)

# Integer functions
from spaces.model.expressions.integer_functions import (
    absd as absd,
    popcount as popcount,
    count_leading_zeros as count_leading_zeros,
    count_trailing_zeros as count_trailing_zeros,
    saturating_add as saturating_add,
    saturating_sub as saturating_sub,
    halving_add as halving_add,
    halving_sub as halving_sub,
    rounding_halving_add as rounding_halving_add,
    widening_add as widening_add,
    widening_sub as widening_sub,
    widening_mul as widening_mul,
    widening_shift_left as widening_shift_left,
    widening_shift_right as widening_shift_right,
    widen_right_add as widen_right_add,
    widen_right_sub as widen_right_sub,
    widen_right_mul as widen_right_mul,
    rounding_shift_left as rounding_shift_left,
    rounding_shift_right as rounding_shift_right,
    mul_shift_right as mul_shift_right,
    rounding_mul_shift_right as rounding_mul_shift_right,
)

# Random numbers
from spaces.model.expressions.approximations import (
    random_float as random_float,
    random_int as random_int,
    random_uint as random_uint,
)

# Reductions
from spaces.model.algorithm.reductions import (
    sum as sum,
    product as product,
    maximum as maximum,
    minimum as minimum,
    argmax as argmax,
    argmin as argmin,
)

# Values outside of an image
from spaces.model.algorithm import boundary as boundary

# Scheduling
from spaces.model.directives.directives import (
    schedule as schedule,
    Directives as Directives,
)
from spaces.model.schedules.schedule import (
    Schedule as Schedule,
    LoopAlign as LoopAlign,
    LoopLevel as LoopLevel,
    MemoryType as MemoryType,
    StageOf as StageOf,
)
from spaces.model.schedules.domain_order import (
    DomainOrder as DomainOrder,
    Fuse as Fuse,
    LoopKind as LoopKind,
    OrderedLoop as OrderedLoop,
    Partition as Partition,
    PrefetchBound as PrefetchBound,
    Split as Split,
    Tail as Tail,
)
from spaces.model.schedules.derive import derived as derived

# Schedules and pipelines as text and JSON
from spaces.model.writing.text import (
    format_schedule as format_schedule,
    parse_schedule as parse_schedule,
    parse_partial as parse_partial,
    read_schedule as read_schedule,
)
from spaces.model.writing.written import WrittenSchedule as WrittenSchedule
from spaces.model.writing.syntax_error import ScheduleSyntaxError as ScheduleSyntaxError
from spaces.model.writing.chain import directive_calls as directive_calls
from spaces.model.writing.serialize import (
    to_json as to_json,
    from_json as from_json,
    DocumentError as DocumentError,
)

# Pipelines of Halide
from spaces.backend.halide.incoming.program import (
    HalideProgram as HalideProgram,
    read_hlpipe as read_hlpipe,
)
from spaces.backend.halide.incoming.live import from_halide as from_halide
from spaces.backend.halide.incoming.problems import HalideImportError as HalideImportError
from spaces.backend.halide.file.errors import HalideFileError as HalideFileError
from spaces.backend.halide.outgoing.entry_points import (
    to_halide as to_halide,
    write_hlpipe as write_hlpipe,
    apply as apply,
    HalideObjects as HalideObjects,
)
from spaces.backend.halide.source import halide_source as halide_source
from spaces.backend.halide.schedule_source import (
    halide_schedule_source as halide_schedule_source,
)
from spaces.backend.halide.python_source import halide_python_source as halide_python_source
from spaces.backend.halide.errors import (
    ApplyError as ApplyError,
    AppliedOtherwiseError as AppliedOtherwiseError,
)

# Comparing schedules
from spaces.model.nest.canonical import (
    canonical_form as canonical_form,
    same_schedule as same_schedule,
    distance as distance,
    CanonicalForm as CanonicalForm,
)

# The loop nest of a schedule
from spaces.model.nest.loopnest import (
    loop_nest as loop_nest,
    LoopNest as LoopNest,
)
from spaces.model.schedules.levels import LevelError as LevelError
from spaces.model.nest.splits import OrderError as OrderError
from spaces.model.nest.nest_text import format_nest as format_nest
from spaces.model.nest.tree import (
    schedule_tree as schedule_tree,
    format_tree as format_tree,
)
from spaces.model.nest.well_formed import well_formed as well_formed

# Edits of schedules
from spaces.model.directives.edit import Edit as Edit
from spaces.model.directives.transformers import enumerate_edits as enumerate_edits

# Verifying and repairing
from spaces.constraints.legality.verify import (
    verify as verify,
    verify_rest as verify_rest,
)
from spaces.constraints.repairs.repair import (
    repair as repair,
    Repair as Repair,
)
from spaces.constraints.repairs.ranked_edit import RankedEdit as RankedEdit
from spaces.constraints.legality.preconditions import (
    size_preconditions as size_preconditions,
    Precondition as Precondition,
)
from spaces.constraints.legality.lattice import legal_mask as legal_mask
from spaces.constraints.legality.verdict import (
    Verdict as Verdict,
    CheckedSchedule as CheckedSchedule,
    Illegal as Illegal,
    SizeCondition as SizeCondition,
)
from spaces.constraints.rules.findings import (
    Violation as Violation,
    Advice as Advice,
)
from spaces.constraints.rules.rounding import Rounding as Rounding
from spaces.constraints.devices.device import (
    Device as Device,
    device as device,
    device_names as device_names,
)
from spaces.constraints.solver.universe import (
    Decision as Decision,
    Universe as Universe,
)

# Proving for all sizes
from spaces.constraints.proofs.prove import prove as prove
from spaces.constraints.obligations.records import (
    ProofReport as ProofReport,
    Proof as Proof,
    Obligation as Obligation,
    Proven as Proven,
    Refuted as Refuted,
    Unknown as Unknown,
    Counterexample as Counterexample,
)
from spaces.constraints.proofs.certificates import (
    write_certificates as write_certificates,
    recheck as recheck,
)
from spaces.backend.replay.run import replay_nest as replay_nest
from spaces.backend.replay.report import Replay as Replay

# Compiling and running
from spaces.backend.compile import (
    compile_cpu as compile_cpu,
    CompiledPipeline as CompiledPipeline,
    PreparedRun as PreparedRun,
    compile_cpu_unchecked as compile_cpu_unchecked,
)
from spaces.backend.llvm.operators import FloatMode as FloatMode
from spaces.backend.profiling.run import profile as profile
from spaces.backend.profiling.profile import (
    Profile as Profile,
    FuncTime as FuncTime,
)
from spaces.backend.compile_gpu import compile_gpu as compile_gpu
from spaces.backend.gpu_pipeline import (
    GpuPipeline as GpuPipeline,
    PreparedGpuRun as PreparedGpuRun,
)
from spaces.backend.compile_gpu import compile_gpu_unchecked as compile_gpu_unchecked
from spaces.backend.cuda.nvrtc import KernelResources as KernelResources
from spaces.backend.cuda.emulator import Emulator as Emulator
from spaces.backend.cuda.launch import (
    GpuExecutor as GpuExecutor,
    gpu_available as gpu_available,
)
from spaces.backend.cuda.kernel_cache import KernelCache as KernelCache
from spaces.backend.cuda.errors import CudaUnavailable as CudaUnavailable
from spaces.backend.arrays.device_array import DeviceArray as DeviceArray
from spaces.backend.access import (
    AccessMode as AccessMode,
    AccessError as AccessError,
)
from spaces.backend.llvm.runtime.helpers import runtime_object as runtime_object
from spaces.backend.reference.evaluation import evaluate as evaluate
from spaces.backend.arguments import (
    ArgumentError as ArgumentError,
    RequirementError as RequirementError,
)
from spaces.backend.preconditions import SizeError as SizeError
from spaces.backend.foreign import ForeignCodeError as ForeignCodeError
from spaces.backend.reference.boxes import ImageBoundsError as ImageBoundsError

# Cost models
from spaces.cost.model import (
    BoundedModel as BoundedModel,
    CostModel as CostModel,
    PartedModel as PartedModel,
    UncertainModel as UncertainModel,
)
from spaces.cost.errors import PriceErrors as PriceErrors
from spaces.cost.price import (
    price as price,
    SchedulePrice as SchedulePrice,
    PricePart as PricePart,
)
from spaces.cost.explain import (
    explain as explain,
    PriceDifference as PriceDifference,
    PartDifference as PartDifference,
)
from spaces.cost.batch import (
    Batch as Batch,
    BatchError as BatchError,
)
from spaces.features.features import Features as Features
from spaces.cost.simple.roofline import Roofline as Roofline
from spaces.constraints.devices.peaks import Peaks as Peaks
from spaces.cost.learned.model import Learned as Learned
from spaces.cost.learned.weights import WeightsError as WeightsError
from spaces.cost.registry import (
    cost_model as cost_model,
    cost_model_names as cost_model_names,
    default_model as default_model,
    register_cost_model as register_cost_model,
    UnknownModelError as UnknownModelError,
)

from spaces.model.registry import PluginError as PluginError

# Spaces of schedules
from spaces.enumerate.space.schedule_space import ScheduleSpace as ScheduleSpace
from spaces.enumerate.search.bounds import (
    lower_bound as lower_bound,
    decided_features as decided_features,
)
from spaces.enumerate.space.empty_space import EmptySpaceError as EmptySpaceError
from spaces.enumerate.space.structure import Structure as Structure
from spaces.enumerate.space.counting.estimate import (
    CountBounds as CountBounds,
    CountEstimate as CountEstimate,
    WeightedEstimate as WeightedEstimate,
)
from spaces.enumerate.space.counting.draws import Draw as Draw, Sampled as Sampled
from spaces.enumerate.space.counting.count import Counted as Counted
from spaces.enumerate.space.counting.ranks import Ranked as Ranked
from spaces.enumerate.space.options import (
    Options as Options,
    default_options as default_options,
)
from spaces.enumerate.space.process.partial import PartialSchedule as PartialSchedule
from spaces.enumerate.space.process.decision import (
    DecisionPoint as DecisionPoint,
    DecisionOption as DecisionOption,
)
from spaces.enumerate.space.encoding import (
    encode_schedule as encode_schedule,
    decode_schedule as decode_schedule,
)
from spaces.enumerate.space.edits import (
    enumerate_neighbours as enumerate_neighbours,
    mutate_schedule as mutate_schedule,
    cross_schedules as cross_schedules,
)
from spaces.enumerate.space.patterns.builder import (
    Pattern as Pattern,
    Shape as Shape,
)
from spaces.enumerate.space.patterns.by_name import (
    register_pattern as register_pattern,
    PatternError as PatternError,
)
from spaces.enumerate.space.completing.universe import universe as universe
from spaces.enumerate.space.completing.emptiness import explain_empty as explain_empty
from spaces.enumerate.space.completing.complete import (
    complete as complete,
    open_funcs as open_funcs,
    Completions as Completions,
)

# Restricting spaces
from spaces.enumerate.space.restrictions.restriction import (
    FeatureCondition as FeatureCondition,
    Predicate as Predicate,
    PartialPredicate as PartialPredicate,
)
from spaces.enumerate.space.restrictions.text import (
    parse_restriction as parse_restriction,
    RestrictionSyntaxError as RestrictionSyntaxError,
)
from spaces.features.named_features import (
    factor as factor,
    iterations as iterations,
    extent as extent,
    lanes as lanes,
    tasks as tasks,
    threads as threads,
    blocks as blocks,
    shared_bytes as shared_bytes,
    occupancy_percent as occupancy_percent,
    points as points,
    distinct as distinct,
    redundant as redundant,
    visits as visits,
    allocations as allocations,
    bytes_stored as bytes_stored,
    stores as stores,
    loads as loads,
    working_set as working_set,
    reuse_distance as reuse_distance,
    parallel_tasks as parallel_tasks,
    total_bytes as total_bytes,
    cores as cores,
    multiprocessors as multiprocessors,
    KiB as KiB,
    MiB as MiB,
)
from spaces.features.used_features import FeatureNameError as FeatureNameError

# Searching
from spaces.enumerate.search.search import search as search, best as best
from spaces.enumerate.search.registry import default_strategy as default_strategy
from spaces.enumerate.search.registry import register_strategy as register_strategy
from spaces.enumerate.search.registry import strategy_names as strategy_names
from spaces.enumerate.search.registry import UnknownStrategyError as UnknownStrategyError
from spaces.enumerate.search.board import Board as Board
from spaces.enumerate.search.limits import Limits as Limits
from spaces.enumerate.search.registry import Strategy as Strategy
from spaces.enumerate.search.neighbours.annealing import Annealing as Annealing
from spaces.enumerate.search.neighbours.bandit import Bandit as Bandit
from spaces.enumerate.search.papers.beam import Beam as Beam
from spaces.enumerate.search.papers.best_first import BestFirst as BestFirst
from spaces.enumerate.search.papers.reuse_analysis.strategy import ReuseAnalysis as ReuseAnalysis
from spaces.enumerate.search.stagewise.freezing import Freezing as Freezing
from spaces.enumerate.search.neighbours.genetic.strategy import Genetic as Genetic
from spaces.enumerate.search.papers.grouping import Grouping as Grouping
from spaces.enumerate.search.papers.sampling import HierarchicalSampling as HierarchicalSampling
from spaces.enumerate.search.improving import Improving as Improving, ImprovingFrom as ImprovingFrom
from spaces.enumerate.search.neighbours.latin_hypercube import LatinHypercube as LatinHypercube
from spaces.enumerate.search.neighbours.optuna_search import (
    OptunaSearch as OptunaSearch,
    OptunaUnavailableError as OptunaUnavailableError,
)
from spaces.enumerate.search.neighbours.random_draws import RandomDraws as RandomDraws
from spaces.enumerate.search.stagewise.stagewise import Stagewise as Stagewise
from spaces.enumerate.search.quick_search import QuickSearch as QuickSearch
from spaces.enumerate.search.improvements import Improvement as Improvement
from spaces.enumerate.search.events import (
    Event as Event,
    Expanded as Expanded,
    Scored as Scored,
    Improved as Improved,
    Done as Done,
    Ending as Ending,
    Certificate as Certificate,
    Found as Found,
)

# Measuring
from spaces.cost.measurer import (
    GradualMeasurer as GradualMeasurer,
    Measurer as Measurer,
    Measurement as Measurement,
    RunOutcome as RunOutcome,
)
from spaces.backend.measuring.local import LocalMeasurer as LocalMeasurer
from spaces.backend.measuring.session import MeasuringError as MeasuringError
from spaces.cost.pool import MeasuringPool as MeasuringPool
from spaces.backend.measuring.over_dask import (
    DaskMeasurer as DaskMeasurer,
    DaskUnavailable as DaskUnavailable,
)
from spaces.backend.measuring.task import MeasuringLimits as MeasuringLimits
from spaces.backend.measuring.conditions import RunConditions as RunConditions
from spaces.backend.measuring.metrics import Metric as Metric
from spaces.backend.measuring.rounds import Race as Race
from spaces.backend.measuring.agreement import Tolerance as Tolerance
from spaces.backend.measuring.tolerances import tolerance as tolerance

# Tuning
from spaces.tuning.tune import tune as tune
from spaces.tuning.best_known import (
    compile_best as compile_best,
    best_known as best_known,
)
from spaces.tuning.study import (
    Study as Study,
)
from spaces.tuning.opened_study import (
    BusyStudyError as BusyStudyError,
)
from spaces.tuning.trial import (
    Trial as Trial,
    Proposal as Proposal,
)
from spaces.tuning.strategy import (
    FirstSearch as FirstSearch,
    SearchingStrategy as SearchingStrategy,
    TuningStrategy as TuningStrategy,
)
from spaces.tuning.strategies import (
    register_tuning_strategy as register_tuning_strategy,
    tuning_strategy_names as tuning_strategy_names,
    UnknownTuningStrategyError as UnknownTuningStrategyError,
)
from spaces.tuning.evolving import Evolving as Evolving
from spaces.tuning.iterated import Iterated as Iterated
from spaces.tuning.top_ranked import TopRanked as TopRanked
from spaces.tuning.random_trials import RandomTrials as RandomTrials
from spaces.tuning.compiler_ranking import (
    rank_by_compiler as rank_by_compiler,
    CompiledSchedule as CompiledSchedule,
)
from spaces.tuning.store import (
    TuningStore as TuningStore,
    default_store as default_store,
)
from spaces.tuning.study_key import StudySummary as StudySummary
from spaces.tuning.pareto import pareto_trials as pareto_trials
from spaces.tuning.schema import StoreError as StoreError
from spaces.tuning.identity import TuningMachine as TuningMachine
from spaces.tuning.calibration import (
    calibrate as calibrate,
    Calibration as Calibration,
)
from spaces.cost.cpu.prices import Prices as Prices
from spaces.cost.training import (
    TrainableModel as TrainableModel,
    PricedRun as PricedRun,
)
from spaces.tuning.export import (
    t4_text as t4_text,
    trials_from_t4 as trials_from_t4,
    csv_text as csv_text,
    trial_columns as trial_columns,
    trials_frame as trials_frame,
    write_parquet as write_parquet,
    TablesUnavailable as TablesUnavailable,
)
from spaces.tuning.damage import find_damage as find_damage, Damage as Damage

# Tuning by the results of another study
from spaces.tuning.recorded import (
    replay_strategy as replay_strategy,
    RecordedMeasurer as RecordedMeasurer,
)

# Plots of searches and studies
from spaces.plots.searches.search_record import (
    search_record as search_record,
    SearchRecord as SearchRecord,
    PricedSchedule as PricedSchedule,
)
from spaces.plots.searches.search_charts import (
    search_plot as search_plot,
    SearchPlotKind as SearchPlotKind,
)
from spaces.plots.searches.search_funnel import search_funnel as search_funnel
from spaces.plots.searches.search_decisions import search_decisions as search_decisions
from spaces.tuning.plots.study_record import (
    study_record as study_record,
    StudyRecord as StudyRecord,
)
from spaces.tuning.plots.plot import study_plot as study_plot
from spaces.plots.plot import (
    Plot as Plot,
    NothingToPlotError as NothingToPlotError,
)
from spaces.tuning.plots.kinds import PlotKind as PlotKind
from spaces.plots.figures import PlotsUnavailable as PlotsUnavailable
from spaces.tuning.plots.progress import study_progress as study_progress
from spaces.tuning.plots.funnel import study_funnel as study_funnel
from spaces.tuning.plots.predictions import study_predictions as study_predictions
from spaces.tuning.plots.standing import study_standings as study_standings
from spaces.tuning.plots.decisions import study_decisions as study_decisions
from spaces.plots.decisions import shared_by_best as shared_by_best

# Pages
from spaces.pages.report import (
    report as report,
    Report as Report,
)
from spaces.pages.study_report import (
    study_report as study_report,
    StudyReport as StudyReport,
)
from spaces.pages.search_report import (
    search_report as search_report,
    SearchReport as SearchReport,
)

# Apps
from spaces.apps.catalog import APPS as APPS
from spaces.apps.app import App as App
