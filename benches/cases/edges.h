/* The southern side of row j from the rows j - 2 to j + 1. */
static inline void NAME(edges_south)(REAL *weights, int j, int nj) {
    static const REAL inner[4] = {(REAL)(-1.0 / 12), (REAL)(7.0 / 12), (REAL)(7.0 / 12), (REAL)(-1.0 / 12)};
    static const REAL first[4] = {0, (REAL)0.5, (REAL)0.5, 0};
    static const REAL second[4] = {0, (REAL)(1.0 / 3), (REAL)(5.0 / 6), (REAL)(-1.0 / 6)};
    static const REAL last[4] = {(REAL)(-1.0 / 6), (REAL)(5.0 / 6), (REAL)(1.0 / 3), 0};
    memcpy(weights, j == nj - 1 ? last : j == 1 ? second : j == 0 ? first : inner, 4 * sizeof(REAL));
}

/* The western sides of a row; the three that have formulas of their own come last. */
static inline void NAME(edges_west)(REAL *restrict west, const REAL *restrict q, int n) {
#pragma omp simd
    for (int i = 0; i < n; i++) west[i] = (REAL)(7.0 / 12) * (q[i - 1] + q[i]) - (REAL)(1.0 / 12) * (q[i - 2] + q[i + 1]);
    west[0] = (REAL)0.5 * (q[-1] + q[0]);
    west[1] = (REAL)(1.0 / 3) * q[0] + (REAL)(5.0 / 6) * q[1] - (REAL)(1.0 / 6) * q[2];
    west[n - 1] = (REAL)(1.0 / 3) * q[n - 1] + (REAL)(5.0 / 6) * q[n - 2] - (REAL)(1.0 / 6) * q[n - 3];
}

/* Works down the rows of a block; four rows of western sides stay in the first-level cache. What differs along J are the
 * weights of whole rows, what differs along I are single points that are corrected. */
KERNEL(edges) {
    FIELD(q, 0);
    RESULT(corner, 1);
    const int rows = tuning[0], stream = tuning[1], blocks = (nj + rows - 1) / rows;
#pragma omp parallel
    {
        const size_t width = NAME(width)(ni);
        REAL *scratch = NAME(scratch)(6, ni), *west[4];
        for (int n = 0; n < 4; n++) west[n] = scratch + n * width + LANES;
        REAL *south = scratch + 4 * width + LANES, *line = scratch + 5 * width + LANES;
#pragma omp for collapse(2) schedule(static)
        for (int k = 0; k < nk; k++)
            for (int block = 0; block < blocks; block++) {
                const int begin = block * rows, end = begin + rows < nj ? begin + rows : nj;
                const REAL *level = q + k * sk;
                for (int j = begin - 2; j < begin + 1; j++) NAME(edges_west)(west[(j + 4) % 4], level + j * sj, ni);
                for (int j = begin; j < end; j++) {
                    const REAL *restrict a = level + j * sj;
                    NAME(edges_west)(west[(j + 1) % 4], a + sj, ni);
                    REAL weights[4];
                    NAME(edges_south)(weights, j, nj);
                    REAL *restrict s = south;
                    const REAL v0 = weights[0], v1 = weights[1], v2 = weights[2], v3 = weights[3];
#pragma omp simd
                    for (int i = -2; i <= ni; i++) s[i] = v0 * a[i - 2 * sj] + v1 * a[i - sj] + v2 * a[i] + v3 * a[i + sj];
                    const int side = j == 0 || j == nj - 1;
                    const REAL near = (REAL)0.5 * (side ? (REAL)0.5 : (REAL)(9.0 / 16)), far = side ? 0 : (REAL)(0.5 / 16);
                    const REAL *restrict w2 = west[(j + 2) % 4], *restrict w1 = west[(j + 3) % 4];
                    const REAL *restrict w0 = west[j % 4], *restrict wn = west[(j + 1) % 4];
                    REAL *out = corner + k * sk + j * sj;
                    REAL *restrict to = stream ? line : out;
#pragma omp simd
                    for (int i = 0; i < ni; i++)
                        to[i] = near * (w1[i] + w0[i]) - far * (w2[i] + wn[i]) + (REAL)(4.5 / 16) * (s[i - 1] + s[i]) -
                                (REAL)(0.5 / 16) * (s[i - 2] + s[i + 1]);
                    for (int i = 0; i < ni; i += ni - 1)
                        to[i] = near * (w1[i] + w0[i]) - far * (w2[i] + wn[i]) + (REAL)0.25 * (s[i - 1] + s[i]);
                    const REAL third = (REAL)(1.0 / 3);
                    const REAL *restrict b = a - sj;
                    const int e = ni - 1;
                    if (j == 0) {
                        to[0] = (a[0] + a[-1] + b[0]) * third;
                        to[e] = (a[e] + a[e - 1] + b[e - 1]) * third;
                    }
                    if (j == nj - 1) {
                        to[0] = (a[0] + b[0] + b[-1]) * third;
                        to[e] = (a[e - 1] + b[e] + b[e - 1]) * third;
                    }
                    if (stream) NAME(stream_row)(out, line, ni);
                }
            }
        free(scratch);
        _mm_sfence();
    }
}
