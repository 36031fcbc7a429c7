// CUDA C on the host: each thread of a block is one of the processor, a block comes after the other.
#include <algorithm>
#include <barrier>
#include <thread>
#include <vector>

#define __global__
#define __device__
#define __forceinline__ inline
#define __launch_bounds__(threads)
#define __shared__ static

struct Index {
    int x, y, z;
};
static Index gridDim, blockDim, blockIdx;
static thread_local Index threadIdx;
static std::barrier<> *together;
static void __syncthreads() { together->arrive_and_wait(); }
using std::min;

template <class Kernel> static void launch(Index grid, Index block, Kernel kernel) {
    gridDim = grid;
    blockDim = block;
    for (blockIdx.z = 0; blockIdx.z < grid.z; blockIdx.z++)
        for (blockIdx.y = 0; blockIdx.y < grid.y; blockIdx.y++)
            for (blockIdx.x = 0; blockIdx.x < grid.x; blockIdx.x++) {
                std::barrier<> all(block.x * block.y * block.z);
                together = &all;
                std::vector<std::jthread> threads;
                for (int y = 0; y < block.y; y++)
                    for (int x = 0; x < block.x; x++)
                        threads.emplace_back([&, x, y] {
                            threadIdx = {x, y, 0};
                            kernel();
                            all.arrive_and_drop();
                        });
            }
}
