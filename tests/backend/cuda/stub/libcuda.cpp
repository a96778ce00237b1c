// A CUDA driver without a GPU: it keeps its own memory, runs the kernels of a library that the
// emulator builds, and writes a line to the file $STUB_LOG for each call. A module is the path of
// such a library in place of a CUBIN, then a line for each kernel: its name and its parameters.
//
// With $STUB_IDLE kernels do nothing, so that all time is that of the host. With $STUB_FAULTS the
// kernel of that name breaks the context: all later calls fail, until there is no such setting.
//
// Work of a stream is done as late as possible: when a call waits for it, or when work of another
// stream that waits for it must be done. A call that waits for all streams does their work in turns.
// The default stream and the others wait for each other.
//
// It stops the process where a program must not go on: memory that is not its own, a call without a
// current context, a launch that no device accepts.

#include <dlfcn.h>

#include <chrono>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <sstream>
#include <string>
#include <vector>

namespace {

enum { SUCCESS = 0, INVALID_VALUE = 1, OUT_OF_MEMORY = 2, NO_DEVICE = 100, INVALID_CONTEXT = 201,
       NOT_FOUND = 500, ILLEGAL_ADDRESS = 700, LAUNCH_FAILED = 719 };

using Run = int (*)(int, const unsigned*, unsigned, int, uint64_t, void**, const uint64_t*, char*,
                    size_t);

struct Kernel { std::string name; int parameters; };
struct Module { Run run; std::vector<Kernel> kernels; };
struct Function { Module* module; int number; std::string name; int shared; int parameters; };
struct Event { bool is_timed; double at; uintptr_t stream; size_t number; };

struct Stream {
    std::deque<std::function<void()>> work;
    size_t done = 0;
    size_t asked() const { return done + work.size(); }
};
struct Launch { void* function; unsigned sizes[7]; std::vector<uint64_t> values; };
struct Graph { std::vector<Launch> launches; size_t copies = 0; };

std::map<uintptr_t, size_t> memory;  // by address, the bytes
std::map<uintptr_t, Stream> streams;  // by handle
int contexts = 0;
bool is_broken = false;  // a kernel has touched memory that is not its own
Graph* capturing = nullptr;

void line(const char* format, ...) {
    static FILE* log = getenv("STUB_LOG") ? fopen(getenv("STUB_LOG"), "a") : nullptr;
    if (!log) return;
    va_list rest;
    va_start(rest, format);
    vfprintf(log, format, rest);
    va_end(rest);
    fputc('\n', log);
    fflush(log);
}

int setting(const char* name, int otherwise) {
    const char* given = getenv(name);
    return given ? atoi(given) : otherwise;
}

[[noreturn]] void stop(const char* why) {
    line("STOPPED %s", why);
    fprintf(stderr, "stub driver: %s\n", why);
    abort();
}

void within(uintptr_t address, size_t bytes) {
    auto found = memory.upper_bound(address);
    if (found == memory.begin()) stop("memory that nothing has allocated");
    --found;
    if (address + bytes > found->first + found->second) stop("memory beyond an allocation");
}

uintptr_t handle(void* stream) {
    auto number = reinterpret_cast<uintptr_t>(stream);
    return number == 1 ? 0 : number;  // both are the default stream
}

void finish(uintptr_t stream, size_t number) {
    Stream& one = streams[stream];
    while (one.done < number) {
        auto next = one.work.front();
        one.work.pop_front();
        ++one.done;
        next();
    }
}

void finish(uintptr_t stream) { finish(stream, streams[stream].asked()); }

void ask(uintptr_t stream, std::function<void()> work) {
    streams[stream];
    std::vector<std::pair<uintptr_t, size_t>> before;
    for (auto& [other, one] : streams)
        if (other != stream && (other == 0 || stream == 0)) before.push_back({other, one.asked()});
    streams[stream].work.push_back([=] {
        for (auto [other, number] : before) finish(other, number);
        work();
    });
}

void finish_all() {  // in turns
    for (bool is_done = false; !is_done;) {
        is_done = true;
        for (auto& [stream, one] : streams)
            if (!one.work.empty()) {
                finish(stream, one.done + 1);
                is_done = false;
            }
    }
}

int broken() {
    if (!getenv("STUB_FAULTS")) is_broken = false;  // the next test
    return is_broken ? ILLEGAL_ADDRESS : SUCCESS;
}

void run(const Function& kernel, std::vector<unsigned> sizes, unsigned shared,
         std::vector<uint64_t> values) {
    std::vector<void*> places;
    std::vector<uint64_t> bytes;  // behind each pointer; no other argument is asked for
    for (uint64_t& value : values) {
        places.push_back(&value);
        auto found = memory.find(value);
        bytes.push_back(found == memory.end() ? 0 : found->second);
    }
    if (getenv("STUB_FAULTS") && kernel.name == getenv("STUB_FAULTS")) is_broken = true;
    if (is_broken) return;
    char message[512] = "";
    if (kernel.module->run(kernel.number, sizes.data(), shared, 0, 0, places.data(), bytes.data(),
                           message, sizeof message)) {
        line("failed %s", message);
        is_broken = true;
    }
}

double now() {
    using namespace std::chrono;
    return duration<double, std::milli>(steady_clock::now().time_since_epoch()).count();
}

}  // namespace

#define IN_CONTEXT if (contexts < 1) return INVALID_CONTEXT

extern "C" {

int cuInit(unsigned) { return setting("STUB_DEVICES", 1) < 0 ? NO_DEVICE : SUCCESS; }
int cuDriverGetVersion(int* version) { *version = 13000; return SUCCESS; }
int cuDeviceGetCount(int* count) { *count = setting("STUB_DEVICES", 1); return SUCCESS; }
int cuDeviceGet(int* device, int number) { *device = number; return SUCCESS; }

int cuDeviceGetName(char* name, int length, int) {
    snprintf(name, length, "Stub");
    return SUCCESS;
}

int cuDeviceGetAttribute(int* value, int attribute, int) {
    *value = attribute == 75 ? 9 : attribute == 38 ? 1 << 20 : 0;  // capability 9.0, 1 MB of L2
    return SUCCESS;
}

int cuDevicePrimaryCtxRetain(void** context, int device) {
    line("retain %d", device);
    *context = reinterpret_cast<void*>(0x100 + device);
    return SUCCESS;
}

int cuCtxPushCurrent_v2(void*) { line("push"); ++contexts; return SUCCESS; }
int cuCtxPopCurrent_v2(void** context) {
    line("pop");
    --contexts;
    *context = reinterpret_cast<void*>(0x100);
    return SUCCESS;
}
int cuCtxSynchronize() { IN_CONTEXT; line("wait"); finish_all(); return broken(); }

int cuStreamCreate(void** stream, unsigned) {
    static uintptr_t next = 0x1000;
    line("stream");
    *stream = reinterpret_cast<void*>(next++);
    return SUCCESS;
}
int cuStreamDestroy_v2(void*) { return SUCCESS; }
int cuStreamSynchronize(void* stream) {
    IN_CONTEXT;
    line("wait %zx", handle(stream));
    finish(handle(stream));
    return broken();
}
int cuStreamWaitEvent(void* stream, void* event, unsigned) {
    IN_CONTEXT;
    Event at = *static_cast<Event*>(event);
    line("order %zx %zx", at.stream, handle(stream));
    ask(handle(stream), [=] { finish(at.stream, at.number); });
    return SUCCESS;
}

int cuPointerGetAttribute(void* data, int attribute, uintptr_t address) {
    auto found = memory.upper_bound(address);
    bool is_ours = found != memory.begin() && address < (--found)->first + found->second;
    if (!is_ours || attribute != 9) return INVALID_VALUE;  // 9: the number of the device
    *static_cast<int*>(data) = setting("STUB_POINTER_DEVICE", 0);
    return SUCCESS;
}

int cuMemAlloc_v2(uintptr_t* address, size_t bytes) {
    IN_CONTEXT;
    if (!bytes) return INVALID_VALUE;
    if (bytes > size_t(setting("STUB_MEGABYTES", 1 << 12)) << 20) return OUT_OF_MEMORY;
    void* made = aligned_alloc(256, (bytes + 255) / 256 * 256);
    memset(made, 0xFF, bytes);
    *address = reinterpret_cast<uintptr_t>(made);
    memory[*address] = bytes;
    line("allocate %zx %zu", size_t(*address), bytes);
    return SUCCESS;
}

int cuMemFree_v2(uintptr_t address) {
    IN_CONTEXT;
    if (!memory.erase(address)) stop("freed what is no allocation");
    for (auto& [stream, one] : streams)
        if (!one.work.empty()) stop("memory is freed while work waits");
    line("free %zx", size_t(address));
    free(reinterpret_cast<void*>(address));
    return SUCCESS;
}

int cuMemcpyHtoDAsync_v2(uintptr_t to, const void* from, size_t bytes, void* stream) {
    IN_CONTEXT;
    within(to, bytes);
    line("upload %zx %zu %zx", size_t(to), bytes, handle(stream));
    auto* bits = static_cast<const char*>(from);  // pageable memory is read at once
    std::vector<char> staged(bits, bits + bytes);
    ask(handle(stream), [=] {
        within(to, bytes);
        memcpy(reinterpret_cast<void*>(to), staged.data(), bytes);
    });
    return broken();
}

int cuMemcpyDtoHAsync_v2(void* to, uintptr_t from, size_t bytes, void* stream) {
    IN_CONTEXT;
    within(from, bytes);
    line("download %zx %zu %zx", size_t(from), bytes, handle(stream));
    finish(handle(stream));  // memory that is not page-locked
    memcpy(to, reinterpret_cast<void*>(from), bytes);
    return broken();
}

int cuMemcpyDtoDAsync_v2(uintptr_t to, uintptr_t from, size_t bytes, void* stream) {
    IN_CONTEXT;
    if (capturing) return ++capturing->copies, SUCCESS;
    line("copy %zx %zx %zu %zx", size_t(to), size_t(from), bytes, handle(stream));
    ask(handle(stream), [=] {
        within(to, bytes);
        within(from, bytes);
        memcpy(reinterpret_cast<void*>(to), reinterpret_cast<void*>(from), bytes);
    });
    return broken();
}

int cuModuleUnload(void* module) {
    IN_CONTEXT;
    for (auto& [stream, one] : streams)
        if (!one.work.empty()) stop("a module is unloaded while work waits");
    line("unload");
    delete static_cast<Module*>(module);
    return SUCCESS;
}

int cuModuleLoadData(void** module, const void* image) {
    IN_CONTEXT;
    std::istringstream text(static_cast<const char*>(image));
    std::string path;
    std::getline(text, path);
    auto* made = new Module{};
    for (Kernel one; text >> one.name >> one.parameters;) made->kernels.push_back(one);
    void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    made->run = library ? reinterpret_cast<Run>(dlsym(library, "shim_run")) : nullptr;
    if (!made->run) stop("a module that is no library of the emulator");
    line("load %zu kernels", made->kernels.size());
    *module = made;
    return SUCCESS;
}

int cuModuleGetFunction(void** function, void* module, const char* name) {
    IN_CONTEXT;
    auto* from = static_cast<Module*>(module);
    for (size_t number = 0; number < from->kernels.size(); ++number)
        if (from->kernels[number].name == name) {
            line("function %s", name);
            int parameters = from->kernels[number].parameters;
            *function = new Function{from, int(number), name, 48 << 10, parameters};
            return SUCCESS;
        }
    return NOT_FOUND;
}

int cuFuncSetAttribute(void* function, int attribute, int value) {
    IN_CONTEXT;
    auto* kernel = static_cast<Function*>(function);
    line("attribute %s %d %d", kernel->name.c_str(), attribute, value);
    if (attribute == 8) kernel->shared = value;  // the most dynamic shared memory
    return SUCCESS;
}

int cuLaunchKernel(void* function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                   unsigned bz, unsigned shared, void* stream, void** arguments, void**) {
    IN_CONTEXT;
    auto* kernel = static_cast<Function*>(function);
    line("launch %s %u %u %u %u %u %u %u %zx", kernel->name.c_str(), gx, gy, gz, bx, by, bz, shared,
         reinterpret_cast<size_t>(stream));
    if (!gx || !gy || !gz || bx * by * bz > 1024 || int(shared) > kernel->shared)
        return INVALID_VALUE;
    if (capturing) {
        std::vector<uint64_t> values(kernel->parameters);
        for (int number = 0; number < kernel->parameters; ++number)
            memcpy(&values[number], arguments[number], 8);
        capturing->launches.push_back({function, {gx, gy, gz, bx, by, bz, shared}, values});
        return SUCCESS;
    }
    if (getenv("STUB_DIES") && kernel->name == getenv("STUB_DIES")) abort();
    if (getenv("STUB_FAILS") && kernel->name == getenv("STUB_FAILS")) return LAUNCH_FAILED;
    if (getenv("STUB_IDLE")) return SUCCESS;
    std::vector<uint64_t> values, places;
    for (int number = 0; number < kernel->parameters; ++number) {
        uint64_t value = 0;
        memcpy(&value, arguments[number], 8);
        values.push_back(value);
    }
    std::vector<unsigned> sizes = {gx, gy, gz, bx, by, bz};
    ask(handle(stream), [=] { run(*kernel, sizes, shared, values); });
    return broken();
}

int cuMemsetD8Async(uintptr_t to, unsigned char byte, size_t bytes, void* stream) {
    IN_CONTEXT;
    within(to, bytes);
    line("fill %zx %zu", size_t(to), bytes);
    ask(handle(stream), [=] { memset(reinterpret_cast<void*>(to), byte, bytes); });
    return broken();
}

int cuMemGetInfo_v2(size_t* unused, size_t* all) {
    IN_CONTEXT;
    *unused = *all = 64 << 20;
    return SUCCESS;
}

int cuDeviceTotalMem_v2(size_t* bytes, int) { *bytes = 64 << 20; return SUCCESS; }

int cuStreamBeginCapture_v2(void*, int) {
    IN_CONTEXT;
    if (capturing) return INVALID_VALUE;
    capturing = new Graph{};
    return SUCCESS;
}

int cuStreamEndCapture(void*, void** graph) {
    IN_CONTEXT;
    if (!capturing) return INVALID_VALUE;
    line("graph %zu launches", capturing->launches.size());
    *graph = capturing;
    capturing = nullptr;
    return SUCCESS;
}

int cuGraphInstantiateWithFlags(void** made, void* graph, unsigned long long) {
    IN_CONTEXT;
    *made = new Graph(*static_cast<Graph*>(graph));
    return SUCCESS;
}

int cuGraphGetNodes(void* graph, void** nodes, size_t* count) {
    auto* of = static_cast<Graph*>(graph);
    size_t kernels = of->launches.size();
    *count = kernels + of->copies;
    for (size_t number = 0; nodes && number < *count; ++number)
        nodes[number] = reinterpret_cast<void*>(number < kernels ? 1 : 2);
    return SUCCESS;
}

int cuGraphNodeGetType(void* node, int* type) { *type = node == (void*)2; return SUCCESS; }

int cuGraphDestroy(void* graph) { delete static_cast<Graph*>(graph); return SUCCESS; }

int cuGraphLaunch(void* graph, void* stream) {
    IN_CONTEXT;
    for (Launch& one : static_cast<Graph*>(graph)->launches) {
        std::vector<void*> places;
        for (uint64_t& value : one.values) places.push_back(&value);
        unsigned* size = one.sizes;
        int status = cuLaunchKernel(one.function, size[0], size[1], size[2], size[3], size[4],
                                    size[5], size[6], stream, places.data(), nullptr);
        if (status) return status;
    }
    return SUCCESS;
}

int cuEventCreate(void** event, unsigned flags) {
    IN_CONTEXT;
    *event = new Event{!(flags & 2)};
    line("event");
    return SUCCESS;
}
int cuEventDestroy_v2(void* event) { delete static_cast<Event*>(event); line("end of event"); return SUCCESS; }
int cuEventRecord(void* event, void* stream) {
    IN_CONTEXT;
    line("record");
    auto& one = *static_cast<Event*>(event);
    if (one.is_timed) finish(handle(stream));  // times are those of work
    one = {one.is_timed, now(), handle(stream), streams[handle(stream)].asked()};
    return SUCCESS;
}
int cuEventSynchronize(void* event) {
    line("wait for event");
    finish(static_cast<Event*>(event)->stream, static_cast<Event*>(event)->number);
    return broken();
}
int cuEventElapsedTime(float* milliseconds, void* begin, void* end) {
    *milliseconds = float(static_cast<Event*>(end)->at - static_cast<Event*>(begin)->at);
    return SUCCESS;
}
int cuEventElapsedTime_v2(float* milliseconds, void* begin, void* end) {
    return cuEventElapsedTime(milliseconds, begin, end);
}

int cuGetErrorString(int error, const char** text) {
    static const std::map<int, const char*> texts = {
        {INVALID_VALUE, "invalid argument"}, {OUT_OF_MEMORY, "out of memory"},
        {NO_DEVICE, "no CUDA-capable device is detected"},
        {INVALID_CONTEXT, "invalid device context"}, {NOT_FOUND, "named symbol not found"},
        {ILLEGAL_ADDRESS, "an illegal memory access was encountered"},
        {LAUNCH_FAILED, "unspecified launch failure"}};
    auto found = texts.find(error);
    *text = found == texts.end() ? nullptr : found->second;
    return *text ? SUCCESS : INVALID_VALUE;
}

int cuGetProcAddress_v2(const char* name, void** function, int, uint64_t, int* status) {
    for (std::string full : {std::string(name) + "_v2", std::string(name)})
        if ((*function = dlsym(RTLD_DEFAULT, full.c_str())) ||
            (*function = dlsym(dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD), full.c_str()))) {
            if (status) *status = 0;
            return SUCCESS;
        }
    *function = nullptr;
    if (status) *status = 1;
    return NOT_FOUND;
}

}
