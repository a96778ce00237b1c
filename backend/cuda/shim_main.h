// A program that makes one launch: the sanitizers need a separate process.
//
// usage: program JOB RESULT. JOB holds a Header, then for each argument its size in bytes
// (uint64), its kind (uint64: 1 a buffer that the kernel writes, 2 a buffer that it only reads,
// 0 a scalar), and its bytes. RESULT receives the bytes of the written buffers in their order. Each
// buffer is a separate allocation of its exact size, so that a sanitizer sees a step over its end.
// Exit: 0 done; 3 a divergent barrier, 5 an access outside of memory (both with a message on
// standard output); 4 an unusable file.
#pragma once

struct Header {
    uint32_t kernel, order;
    uint32_t grid[3], block[3];
    uint32_t dynamic_shared_bytes, arguments;
    uint64_t seed;
};

constexpr unsigned max_arguments = 1024;

static void read_all(FILE* file, void* to, size_t bytes) {
    if (bytes && fread(to, 1, bytes, file) != bytes) exit(4);
}

int main(int count, char** names) {
    static void* arguments[max_arguments];
    static void* buffers[max_arguments];
    static uint64_t sizes[max_arguments], kinds[max_arguments];
    FILE* job = count == 3 ? fopen(names[1], "rb") : nullptr;
    if (!job) return 4;
    Header header;
    read_all(job, &header, sizeof header);
    if (header.arguments > max_arguments) return 4;
    for (unsigned i = 0; i < header.arguments; ++i) {
        read_all(job, &sizes[i], sizeof sizes[i]);
        read_all(job, &kinds[i], sizeof kinds[i]);
        buffers[i] = malloc(sizes[i]);
        read_all(job, buffers[i], sizes[i]);
        arguments[i] = kinds[i] ? (void*)&buffers[i] : buffers[i];
    }
    fclose(job);

    const shim::Entry& entry = shim::entries[header.kernel];
    shim::Launch launch = {entry.kernel,
                           entry.call,
                           {header.grid[0], header.grid[1], header.grid[2]},
                           {header.block[0], header.block[1], header.block[2]},
                           header.dynamic_shared_bytes,
                           (int)header.order,
                           header.seed,
                           arguments,
                           sizes};
    char message[512];
    if (!shim::run_grid(launch, message, sizeof message)) {
        puts(message);
        return shim::outside.buffer ? 5 : 3;
    }

    FILE* result = fopen(names[2], "wb");
    if (!result) return 4;
    for (unsigned i = 0; i < header.arguments; ++i)
        if (kinds[i] == 1 && fwrite(buffers[i], 1, sizes[i], result) != sizes[i]) return 4;
    return fclose(result) == 0 ? 0 : 4;
}
