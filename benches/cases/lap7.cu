// Each thread goes up LEVELS levels of its column, and has the values below and here from the level before.
#define LEVELS 8

extern "C" __global__ void __launch_bounds__(256)
lap7(const real *__restrict__ q, real *__restrict__ lap, int ni, int nj, int nk, int row, int level) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y * blockDim.y + threadIdx.y;
    int first = 1 + blockIdx.z * LEVELS, end = min(first + LEVELS, nk - 1);
    if (i >= ni || j >= nj || first >= end) return;
    int at = i + j * row + first * level;
    real below = q[at - level], here = q[at];
#pragma unroll
    for (int n = 0; n < LEVELS; n++, at += level) {
        if (first + n >= end) return;
        real above = q[at + level];
        lap[at] = (real)-6 * here + ((q[at - 1] + q[at + 1]) + (q[at - row] + q[at + row]) + (below + above));
        below = here;
        here = above;
    }
}
