// One kernel: the tile of the block and two points around it in shared memory, then the Laplacian of one point around it,
// then the four limited fluxes of each point.
#define ALONG 32
#define ACROSS 8

static __device__ __forceinline__ real limited(real flux, real gradient) {
    return flux * gradient > (real)0 ? (real)0 : flux;
}

extern "C" __global__ void __launch_bounds__(ALONG * ACROSS)
hdiff(const real *__restrict__ q, const real *__restrict__ coefficient, real *__restrict__ q_new, int ni, int nj, int nk,
    int row, int level) {
    __shared__ real values[ACROSS + 4][ALONG + 4];
    __shared__ real laps[ACROSS + 2][ALONG + 2];
    int x = threadIdx.x, y = threadIdx.y, thread = x + y * ALONG;
    int west = blockIdx.x * ALONG, south = blockIdx.y * ACROSS, at = blockIdx.z * level;
    for (int n = thread; n < (ACROSS + 4) * (ALONG + 4); n += ALONG * ACROSS) {
        int across = n / (ALONG + 4), along = n % (ALONG + 4), i = west + along - 2, j = south + across - 2;
        if (i < ni + 2 && j < nj + 2) values[across][along] = q[at + i + j * row];
    }
    __syncthreads();
    for (int n = thread; n < (ACROSS + 2) * (ALONG + 2); n += ALONG * ACROSS) {
        int a = n / (ALONG + 2) + 1, b = n % (ALONG + 2) + 1;
        if (west + b - 2 < ni + 1 && south + a - 2 < nj + 1)
            laps[a - 1][b - 1] = (real)4 * values[a][b]
                - (values[a][b + 1] + values[a][b - 1] + values[a + 1][b] + values[a - 1][b]);
    }
    __syncthreads();
    if (west + x >= ni || south + y >= nj) return;
    int a = y + 1, b = x + 1;
    real here = values[a + 1][b + 1], lap = laps[a][b];
    real east = limited(laps[a][b + 1] - lap, values[a + 1][b + 2] - here);
    real from_west = limited(lap - laps[a][b - 1], here - values[a + 1][b]);
    real north = limited(laps[a + 1][b] - lap, values[a + 2][b + 1] - here);
    real from_south = limited(lap - laps[a - 1][b], here - values[a][b + 1]);
    at += west + x + (south + y) * row;
    q_new[at] = here - coefficient[at] * (east - from_west + north - from_south);
}
