// A thread for each column; c and d of the elimination in memory, neighbouring columns beside one another.

extern "C" __global__ void __launch_bounds__(128)
vadv(real *__restrict__ u_stage, const real *__restrict__ u, const real *__restrict__ w, const real *__restrict__ u_now,
    const real *__restrict__ tendency, real *__restrict__ cs, real *__restrict__ ds, int ni, int nj, int nk, int row,
    int level, real rate) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= ni || j >= nj) return;
    int at = i + j * row, to = i + j * ni, apart = ni * nj;
    const real eighth = (real)0.125;
    real below, here = u[at], above = u[at + level];
    real up = eighth * (w[at + 1 + level] + w[at + level]);
    real inverse = (real)1 / (rate - up);
    real c = up * inverse, d = (rate * u_now[at] + tendency[at] + u_stage[at] - up * (above - here)) * inverse;
    cs[to] = c;
    ds[to] = d;
#pragma unroll 4
    for (int k = 1; k < nk - 1; k++) {
        at += level;
        to += apart;
        below = here;
        here = above;
        above = u[at + level];
        real down = -up;
        up = eighth * (w[at + 1 + level] + w[at + level]);
        real given = -down * (below - here) - up * (above - here);
        inverse = (real)1 / (rate - down - up - c * down);
        c = up * inverse;
        d = (rate * u_now[at] + tendency[at] + u_stage[at] + given - d * down) * inverse;
        cs[to] = c;
        ds[to] = d;
    }
    at += level;
    real now = u_now[at];
    real x = (rate * now + tendency[at] + u_stage[at] + up * (here - above) + d * up) / (rate + up + c * up);
    u_stage[at] = rate * (x - now);
#pragma unroll 4
    for (int k = nk - 2; k >= 0; k--) {
        at -= level;
        x = ds[to] - cs[to] * x;
        to -= apart;
        u_stage[at] = rate * (x - u_now[at]);
    }
}
