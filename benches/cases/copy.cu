// Each thread copies LEVELS points above one another, whose loads are under way at a time.
#define LEVELS 4

extern "C" __global__ void __launch_bounds__(256)
copy(const real *__restrict__ q, real *__restrict__ q_new, int ni, int nj, int nk, int row, int level) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y * blockDim.y + threadIdx.y, first = blockIdx.z * LEVELS;
    if (i >= ni || j >= nj) return;
    int at = i + j * row + first * level;
#pragma unroll
    for (int k = 0; k < LEVELS; k++)
        if (first + k < nk) q_new[at + k * level] = q[at + k * level];
}
