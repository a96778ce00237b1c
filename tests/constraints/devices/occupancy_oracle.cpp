// Reads a device and then kernels, all as 32-bit integers, and writes what the vendor's calculator
// says of each kernel: blocks per multiprocessor, the limiting factors as bits, and the device's
// own limit of blocks. Exits with 2 where the calculator does not know the device.
#include <cstdint>
#include <cstdio>
#include <vector>

#include <cuda_occupancy.h>

int main() {
    std::int32_t limits[11];
    if (std::fread(limits, sizeof limits, 1, stdin) != 1) {
        return 1;
    }
    cudaOccDeviceProp device;
    device.computeMajor = limits[0];
    device.computeMinor = limits[1];
    device.maxThreadsPerBlock = limits[2];
    device.maxThreadsPerMultiprocessor = limits[3];
    device.regsPerBlock = limits[4];
    device.regsPerMultiprocessor = limits[5];
    device.warpSize = limits[6];
    device.sharedMemPerBlock = limits[7];
    device.sharedMemPerMultiprocessor = limits[8];
    device.sharedMemPerBlockOptin = limits[9];
    device.reservedSharedMemPerBlock = limits[10];
    device.numSms = 1;
    cudaOccFuncAttributes kernel;
    kernel.maxThreadsPerBlock = 1024;
    kernel.shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN;
    kernel.numBlockBarriers = 1;
    std::vector<std::int32_t> answers;
    std::int32_t asked[5];  // threads, registers, static and dynamic bytes, carveout in percent
    while (std::fread(asked, sizeof asked, 1, stdin) == 1) {
        kernel.numRegs = asked[1];
        kernel.sharedSizeBytes = asked[2];
        kernel.maxDynamicSharedSizeBytes = asked[3];
        cudaOccDeviceState state;
        state.carveoutConfig = asked[4];
        cudaOccResult result;
        cudaOccError error = cudaOccMaxActiveBlocksPerMultiprocessor(&result, &device, &kernel,
                                                                     &state, asked[0], asked[3]);
        if (error != CUDA_OCC_SUCCESS) {
            return error == CUDA_OCC_ERROR_UNKNOWN_DEVICE ? 2 : 1;
        }
        answers.push_back(result.activeBlocksPerMultiprocessor);
        answers.push_back(static_cast<std::int32_t>(result.limitingFactors));
        answers.push_back(result.blockLimitBlocks);
    }
    std::fwrite(answers.data(), sizeof(std::int32_t), answers.size(), stdout);
    return 0;
}
