// An autoscheduler named Spaces for Halide's generators. It serializes the pipeline, asks a Python
// process for a schedule, and gives it to the Funcs. If anything fails, it says so and computes each
// Func that cannot be inlined at root.
//
// Parameters (autoscheduler.NAME=VALUE): python, the interpreter that has the library; seconds, the
// time limit of the search; parallelism, the number of threads; store, a file of `spaces tune`.

#include "Halide.h"

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iostream>
#include <map>
#include <sstream>
#include <string>
#include <unistd.h>
#include <vector>

#ifndef SPACES_PYTHON
#define SPACES_PYTHON "python3"
#endif

namespace {

using namespace Halide;
using Words = std::vector<std::string>;

Words words_of(const std::string &text, char between) {
    Words words;
    std::istringstream stream(text);
    for (std::string word; std::getline(stream, word, between);) {
        words.push_back(word);
    }
    return words;
}

std::string shell_word(const std::string &text) {
    std::string found = "'";
    for (const char c : text) {
        found += c == '\'' ? std::string("'\\''") : std::string(1, c);
    }
    return found + "'";
}

// The Funcs of a pipeline by their names in the answer, and the meaning of its words.
struct Objects {
    std::map<std::string, Internal::Function> there;
    std::map<std::string, Func> funcs;

    // A loop: a:PLACE:FUNC is an argument of a Func, d:STAGE:PLACE:FUNC a reduction variable of a
    // stage, v:NAME a Var and r:NAME an RVar that a directive has made.
    VarOrRVar loop(const std::string &word) {
        const Words parts = words_of(word, ':');
        if (parts[0] == "a") {
            return funcs.at(parts[2]).args().at(std::stoul(parts[1]));
        }
        if (parts[0] == "d") {
            return funcs.at(parts[3]).rvars(std::stoi(parts[1]) - 1).at(std::stoul(parts[2]));
        }
        return parts[0] == "r" ? VarOrRVar(RVar(parts[1])) : VarOrRVar(Var(parts[1]));
    }

    Var var(const std::string &word) {
        return loop(word).var;
    }

    std::vector<VarOrRVar> loops(const Words &words) {
        std::vector<VarOrRVar> found;
        for (const std::string &word : words) {
            found.push_back(loop(word));
        }
        return found;
    }

    LoopLevel level(const Words &words) {
        return LoopLevel(funcs.at(words.at(0)), loop(words.at(1)));
    }

    std::vector<Func> consumers(const Words &words) {
        std::vector<Func> found;
        for (const std::string &word : words) {
            found.push_back(funcs.at(word));
        }
        return found;
    }
};

const std::map<std::string, TailStrategy> tails = {
    {"Auto", TailStrategy::Auto},
    {"RoundUp", TailStrategy::RoundUp},
    {"GuardWithIf", TailStrategy::GuardWithIf},
    {"Predicate", TailStrategy::Predicate},
    {"PredicateLoads", TailStrategy::PredicateLoads},
    {"PredicateStores", TailStrategy::PredicateStores},
    {"ShiftInwards", TailStrategy::ShiftInwards},
    {"ShiftInwardsAndBlend", TailStrategy::ShiftInwardsAndBlend},
    {"RoundUpAndBlend", TailStrategy::RoundUpAndBlend},
};

const std::map<std::string, MemoryType> memories = {
    {"Auto", MemoryType::Auto},
    {"Heap", MemoryType::Heap},
    {"Stack", MemoryType::Stack},
    {"Register", MemoryType::Register},
};

const std::map<std::string, Partition> partitions = {
    {"Auto", Partition::Auto},
    {"Never", Partition::Never},
    {"Always", Partition::Always},
};

// The tail among the words behind a factor.
TailStrategy tail(const Words &words, size_t place) {
    return words.size() > place ? tails.at(words[place]) : TailStrategy::Auto;
}

int number(const Words &words, size_t place) {
    return std::stoi(words.at(place));
}

using Directive = std::function<void(Objects &, Func &, Stage, const Words &)>;

// A directive on one loop: with a factor, it is on the inner loop of a split.
template<typename Whole, typename Split>
Directive kind(Whole whole, Split split) {
    return [=](Objects &o, Func &, Stage stage, const Words &w) {
        if (w.size() == 1) {
            whole(stage, o.loop(w[0]));
        } else {
            split(stage, o.loop(w[0]), number(w, 1), tail(w, 2));
        }
    };
}

const std::map<std::string, Directive> directives = {
    {"split", [](Objects &o, Func &, Stage s, const Words &w) {
         s.split(o.loop(w.at(0)), o.loop(w.at(1)), o.loop(w.at(2)), number(w, 3), tail(w, 4));
     }},
    {"tile", [](Objects &o, Func &, Stage s, const Words &w) {
         std::vector<VarOrRVar> names;
         std::vector<Expr> factors;
         for (const std::string &word : w) {
             if (word.find(':') != std::string::npos) {
                 names.push_back(o.loop(word));
             } else if (tails.count(word) == 0) {
                 factors.emplace_back(std::stoi(word));
             }
         }
         const auto begin = names.begin();
         const size_t n = factors.size();
         const std::vector<VarOrRVar> old(begin, begin + n), inner(names.end() - n, names.end());
         const std::vector<VarOrRVar> outer(names.end() - 2 * n, names.end() - n);
         s.tile(old, outer, inner, factors, tails.count(w.back()) ? tails.at(w.back()) : TailStrategy::Auto);
     }},
    {"fuse", [](Objects &o, Func &, Stage s, const Words &w) {
         s.fuse(o.loop(w.at(0)), o.loop(w.at(1)), o.loop(w.at(2)));
     }},
    {"reorder", [](Objects &o, Func &, Stage s, const Words &w) { s.reorder(o.loops(w)); }},
    {"vectorize", kind([](Stage &s, const VarOrRVar &v) { s.vectorize(v); },
                       [](Stage &s, const VarOrRVar &v, int n, TailStrategy t) { s.vectorize(v, n, t); })},
    {"unroll", kind([](Stage &s, const VarOrRVar &v) { s.unroll(v); },
                    [](Stage &s, const VarOrRVar &v, int n, TailStrategy t) { s.unroll(v, n, t); })},
    {"parallel", kind([](Stage &s, const VarOrRVar &v) { s.parallel(v); },
                      [](Stage &s, const VarOrRVar &v, int n, TailStrategy t) { s.parallel(v, n, t); })},
    {"serial", [](Objects &o, Func &, Stage s, const Words &w) { s.serial(o.loop(w.at(0))); }},
    {"rename", [](Objects &o, Func &, Stage s, const Words &w) { s.rename(o.loop(w.at(0)), o.loop(w.at(1))); }},
    {"partition", [](Objects &o, Func &, Stage s, const Words &w) {
         s.partition(o.loop(w.at(0)), partitions.at(w.at(1)));
     }},
    {"never_partition", [](Objects &o, Func &, Stage s, const Words &w) { s.never_partition(o.loops(w)); }},
    {"always_partition", [](Objects &o, Func &, Stage s, const Words &w) { s.always_partition(o.loops(w)); }},
    {"never_partition_all", [](Objects &, Func &, Stage s, const Words &) { s.never_partition_all(); }},
    {"always_partition_all", [](Objects &, Func &, Stage s, const Words &) { s.always_partition_all(); }},
    {"atomic", [](Objects &, Func &, Stage s, const Words &w) { s.atomic(!w.empty() && w[0] != "0"); }},
    {"compute_root", [](Objects &, Func &f, Stage, const Words &) { f.compute_root(); }},
    {"compute_inline", [](Objects &, Func &f, Stage, const Words &) { f.compute_inline(); }},
    {"compute_at", [](Objects &o, Func &f, Stage, const Words &w) { f.compute_at(o.level(w)); }},
    {"store_root", [](Objects &, Func &f, Stage, const Words &) { f.store_root(); }},
    {"store_at", [](Objects &o, Func &f, Stage, const Words &w) { f.store_at(o.level(w)); }},
    {"hoist_storage_root", [](Objects &, Func &f, Stage, const Words &) { f.hoist_storage_root(); }},
    {"hoist_storage", [](Objects &o, Func &f, Stage, const Words &w) { f.hoist_storage(o.level(w)); }},
    {"store_in", [](Objects &, Func &f, Stage, const Words &w) { f.store_in(memories.at(w.at(0))); }},
    {"memoize", [](Objects &, Func &f, Stage, const Words &) { f.memoize(); }},
    {"async_", [](Objects &, Func &f, Stage, const Words &) { f.async(); }},
    {"ring_buffer", [](Objects &, Func &f, Stage, const Words &w) { f.ring_buffer(number(w, 0)); }},
    {"fold_storage", [](Objects &o, Func &f, Stage, const Words &w) {
         f.fold_storage(o.var(w.at(0)), number(w, 1), w.size() < 3 || w[2] != "0");
     }},
    {"bound_storage", [](Objects &o, Func &f, Stage, const Words &w) {
         f.bound_storage(o.var(w.at(0)), number(w, 1));
     }},
    {"align_storage", [](Objects &o, Func &f, Stage, const Words &w) {
         f.align_storage(o.var(w.at(0)), number(w, 1));
     }},
    {"reorder_storage", [](Objects &o, Func &f, Stage, const Words &w) {
         std::vector<Var> order;
         for (const std::string &word : w) {
             order.push_back(o.var(word));
         }
         f.reorder_storage(order);
     }},
    {"align_bounds", [](Objects &o, Func &f, Stage, const Words &w) {
         f.align_bounds(o.var(w.at(0)), number(w, 1), w.size() > 2 ? number(w, 2) : 0);
     }},
    {"align_extent", [](Objects &o, Func &f, Stage, const Words &w) {
         f.align_extent(o.var(w.at(0)), number(w, 1));
     }},
    {"bound", [](Objects &o, Func &f, Stage, const Words &w) {
         f.bound(o.var(w.at(0)), number(w, 1), number(w, 2));
     }},
    {"bound_extent", [](Objects &o, Func &f, Stage, const Words &w) {
         f.bound_extent(o.var(w.at(0)), number(w, 1));
     }},
    // Those that add a Func have its name in front.
    {"in_", [](Objects &o, Func &f, Stage, const Words &w) {
         const Words others(w.begin() + 1, w.end());
         o.funcs[w.at(0)] = others.empty() ? f.in() : f.in(o.consumers(others));
     }},
    {"clone_in", [](Objects &o, Func &f, Stage, const Words &w) {
         o.funcs[w.at(0)] = f.clone_in(o.consumers(Words(w.begin() + 1, w.end())));
     }},
    {"rfactor", [](Objects &o, Func &, Stage s, const Words &w) {
         std::vector<std::pair<RVar, Var>> pairs;
         for (size_t i = 1; i + 1 < w.size(); i += 2) {
             pairs.emplace_back(o.loop(w[i]).rvar, o.loop(w[i + 1]).var);
         }
         o.funcs[w.at(0)] = s.rfactor(pairs);
     }},
};

// What the Python process prints: a line "schedule", then lines of words between tabs, then a line
// "source" and C++; or, if there is no schedule, the reason.
std::string answer(const Pipeline &pipeline, const AutoschedulerParams &params, const Target &target) {
    std::vector<uint8_t> data;
    serialize_pipeline(pipeline, data);
    std::error_code error;
    const std::filesystem::path folder = std::filesystem::temp_directory_path(error);
    std::string name = (folder / "spaces_XXXXXX").string();
    const int file = error ? -1 : mkstemp(name.data());
    if (file < 0 || write(file, data.data(), data.size()) != (ssize_t)data.size()) {
        return "The pipeline cannot be written to the folder for temporary files; TMPDIR names it.";
    }
    close(file);
    std::string python = SPACES_PYTHON, given;
    for (const auto &[key, value] : params.extra) {
        if (key == "python") {
            python = value;
        } else {
            given += " " + shell_word(key + "=" + value);
        }
    }
    for (const Argument &argument : Pipeline(pipeline).infer_arguments()) {
        const Expr &estimate = argument.argument_estimates.scalar_estimate;
        if (argument.is_scalar() && estimate.defined()) {
            std::ostringstream value;
            value << estimate;
            given += " " + shell_word("value:" + argument.name + "=" + value.str());
        }
    }
    given += " " + shell_word("target=" + target.to_string());
    given += " vector_bits=" + std::to_string(8 * target.natural_vector_size<uint8_t>());
    const std::string command = shell_word(python) + " -P -m spaces.apps.halide_plugin.answer " + shell_word(name) + given;
    std::string text;
    FILE *output = popen(command.c_str(), "r");
    if (output != nullptr) {
        char part[4096];
        while (const size_t read = fread(part, 1, sizeof part, output)) {
            text.append(part, read);
        }
        pclose(output);
    }
    unlink(name.c_str());
    return text.empty() ? "No answer from " + python + " -m spaces.apps.halide_plugin.answer." : text;
}

// The directives of an answer. Throws before the first one if it has an unknown word.
void give_directives(const Words &lines, Objects &objects) {
    std::vector<Words> calls;
    for (const std::string &line : lines) {
        const Words words = words_of(line, '\t');
        if (words.at(0) == "func") {
            objects.funcs[words.at(1)] = Func(objects.there.at(words.at(2)));
        } else if (directives.count(words.at(2)) == 0) {
            throw std::out_of_range("the directive " + words.at(2) + " is unknown");
        } else {
            calls.push_back(words);
        }
    }
    for (const Words &call : calls) {
        Func func = objects.funcs.at(call[0]);
        const int stage = std::stoi(call[1]);
        const Stage on = stage == 0 ? Stage(func) : Stage(func.update(stage - 1));
        directives.at(call[2])(objects, func, on, Words(call.begin() + 3, call.end()));
    }
}

void fall_back(Objects &objects, const std::string &reason) {
    std::cerr << "Spaces has no schedule: " << reason.substr(0, reason.find_last_not_of('\n') + 1)
              << "\nEach Func that cannot be inlined is computed at root instead.\n";
    for (auto &[name, function] : objects.there) {
        if (!function.can_be_inlined()) {
            Func(function).compute_root();
        }
    }
}

void schedule(const Pipeline &pipeline, const Target &target, const AutoschedulerParams &params,
              AutoSchedulerResults *results) {
    std::vector<Internal::Function> outputs;
    for (const Func &output : pipeline.outputs()) {
        outputs.push_back(output.function());
    }
    Objects objects;
    objects.there = Internal::build_environment(outputs);
    const std::string text = answer(pipeline, params, target);
    const std::string begins = "schedule\n", parts = "source\n";
    const size_t end = text.find("\n" + parts);
    if (text.rfind(begins, 0) != 0 || end == std::string::npos) {
        fall_back(objects, text);
        return;
    }
    try {
        give_directives(words_of(text.substr(begins.size(), end - begins.size()), '\n'), objects);
    } catch (const std::out_of_range &error) {
        fall_back(objects, std::string("the answer is not understood: ") + error.what());
        return;
    }
    results->schedule_source = text.substr(end + 1 + parts.size());
}

const bool is_registered = [] {
    Pipeline::add_autoscheduler("Spaces", schedule);
    return true;
}();

}  // namespace
