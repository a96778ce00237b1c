// Reads one device and one kernel a line and writes what the vendor's calculator says of them:
// blocks per multiprocessor, the limiting factors as bits, and the device's own limit of blocks.
#include <cstdio>
#include <cuda_occupancy.h>

int main() {
    cudaOccDeviceProp device;
    cudaOccFuncAttributes kernel;
    cudaOccDeviceState state;
    size_t dynamic_bytes;
    int threads;
    kernel.maxThreadsPerBlock = 1024;
    kernel.shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN;
    kernel.numBlockBarriers = 1;
    device.numSms = 1;
    while (std::scanf("%d %d %d %d %d %d %d %zu %zu %zu %zu %d %d %zu %zu", &device.computeMajor,
                      &device.computeMinor, &device.maxThreadsPerBlock,
                      &device.maxThreadsPerMultiprocessor, &device.regsPerBlock,
                      &device.regsPerMultiprocessor, &device.warpSize, &device.sharedMemPerBlock,
                      &device.sharedMemPerMultiprocessor, &device.sharedMemPerBlockOptin,
                      &device.reservedSharedMemPerBlock, &threads, &kernel.numRegs,
                      &kernel.sharedSizeBytes, &dynamic_bytes) == 15) {
        cudaOccResult result;
        kernel.maxDynamicSharedSizeBytes = dynamic_bytes;
        cudaOccError error = cudaOccMaxActiveBlocksPerMultiprocessor(&result, &device, &kernel,
                                                                     &state, threads, dynamic_bytes);
        if (error != CUDA_OCC_SUCCESS) {
            return 1;
        }
        std::printf("%d %u %d\n", result.activeBlocksPerMultiprocessor, result.limitingFactors,
                    result.blockLimitBlocks);
    }
    return 0;
}
