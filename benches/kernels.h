/* The two stencils of the demo for one element type; included once per type with REAL, NAME, LANES and STREAM defined.
 *
 * Arrays lie I-contiguous, [k][j][i]; a pointer is at the first point of the compute domain; `sj` and `sk` are strides in
 * elements. With `stream`, results are stored past the cache, which needs rows that begin at a multiple of 64 bytes.
 */

/* Stores a row past the cache. */
static inline void NAME(stream_row)(REAL *restrict to, const REAL *restrict from, int n) {
    int i = 0;
    for (; i + LANES <= n; i += LANES) STREAM(to + i, from + i);
    for (; i < n; i++) to[i] = from[i];
}

static inline REAL NAME(laplacian)(const REAL *restrict a, ptrdiff_t sj) {
    return a[1] + a[-1] + a[sj] + a[-sj] - (REAL)4 * a[0];
}

/* One row of the Laplacian, from point -1 to n inclusive. */
static inline void NAME(laplacian_row)(REAL *restrict lap, const REAL *restrict row, ptrdiff_t sj, int n) {
#pragma omp simd
    for (int i = -1; i <= n; i++) lap[i] = NAME(laplacian)(row + i, sj);
}

static inline REAL NAME(limited)(REAL flux, REAL gradient) { return flux * gradient > 0 ? (REAL)0 : flux; }

/* Works down the rows of a block; two rows of the Laplacian and one of the fluxes in J stay in the first-level cache. */
void NAME(horizontal_diffusion)(const REAL *phi, const REAL *coefficient, REAL *phi_new, int ni, int nj, int nk,
                                ptrdiff_t sj, ptrdiff_t sk, int rows, int stream) {
    const int blocks = (nj + rows - 1) / rows;
    const size_t width = ((size_t)ni + 2 * LANES + 63) / 64 * 64 + 64;
#pragma omp parallel
    {
        REAL *scratch = aligned_alloc(64, 4 * width * sizeof(REAL));
        REAL *lap = scratch + LANES, *lap_next = lap + width, *flux_j = lap_next + width, *result = flux_j + width;
#pragma omp for collapse(2) schedule(static)
        for (int k = 0; k < nk; k++)
            for (int block = 0; block < blocks; block++) {
                const int begin = block * rows, end = begin + rows < nj ? begin + rows : nj;
                const REAL *restrict a = phi + k * sk + begin * sj;
                NAME(laplacian_row)(lap_next, a - sj, sj, ni);
                NAME(laplacian_row)(lap, a, sj, ni);
#pragma omp simd
                for (int i = 0; i < ni; i++) flux_j[i] = NAME(limited)(lap[i] - lap_next[i], a[i] - a[i - sj]);
                for (int j = begin; j < end; j++, a += sj) {
                    const REAL *restrict l = lap, *restrict c = a + sj;
                    REAL *restrict m = lap_next, *restrict g = flux_j;
                    const REAL *restrict alpha = coefficient + k * sk + j * sj;
                    REAL *restrict out = stream ? result : phi_new + k * sk + j * sj;
                    m[-1] = NAME(laplacian)(c - 1, sj);
                    m[ni] = NAME(laplacian)(c + ni, sj);
#pragma omp simd
                    for (int i = 0; i < ni; i++) {
                        m[i] = NAME(laplacian)(c + i, sj);
                        const REAL east = NAME(limited)(l[i + 1] - l[i], a[i + 1] - a[i]);
                        const REAL west = NAME(limited)(l[i] - l[i - 1], a[i] - a[i - 1]);
                        const REAL north = NAME(limited)(m[i] - l[i], c[i] - a[i]);
                        out[i] = a[i] - alpha[i] * (east - west + north - g[i]);
                        g[i] = north;
                    }
                    if (stream) NAME(stream_row)(phi_new + k * sk + j * sj, result, ni);
                    REAL *swap = lap;
                    lap = lap_next;
                    lap_next = swap;
                }
            }
        free(scratch);
        _mm_sfence();
    }
}

/* Works on blocks of columns whose two coefficients per level stay in the second-level cache. */
void NAME(vertical_diffusion)(const REAL *phi, const REAL *level_height, const REAL *sigma, const REAL *surface_altitude,
                              REAL *phi_new, REAL dt, REAL diffusivity, int ni, int nj, int nk, ptrdiff_t sj,
                              ptrdiff_t sk, ptrdiff_t sj_surface, int columns, int stream) {
    const int blocks = (ni + columns - 1) / columns;
    const REAL strength = diffusivity * dt;
#pragma omp parallel
    {
        const size_t width = ((size_t)columns + LANES - 1) / LANES * LANES;
        REAL *scratch = aligned_alloc(64, (2 * (size_t)nk + 3) * width * sizeof(REAL));
        REAL *ratio = scratch, *partial = ratio + nk * width;
        REAL *restrict gap = partial + nk * width, *restrict conductance = gap + width, *restrict x = conductance + width;
#pragma omp for collapse(2) schedule(static)
        for (int j = 0; j < nj; j++)
            for (int block = 0; block < blocks; block++) {
                const int first = block * columns, n = ni - first < columns ? ni - first : columns;
                const REAL *column = phi + j * sj + first;
                REAL *column_new = phi_new + j * sj + first;
                const REAL *restrict ground = surface_altitude + j * sj_surface + first;
                {
                    const REAL da = level_height[1] - level_height[0], db = sigma[1] - sigma[0];
                    const REAL *restrict a = column;
                    REAL *restrict r = ratio, *restrict p = partial;
#pragma omp simd
                    for (int i = 0; i < n; i++) {
                        gap[i] = da + db * ground[i];
                        conductance[i] = strength / gap[i];
                        const REAL inverse = 1 / (gap[i] + conductance[i]);
                        r[i] = conductance[i] * inverse;
                        p[i] = gap[i] * a[i] * inverse;
                    }
                }
                for (int k = 1; k < nk - 1; k++) {
                    const REAL da = level_height[k + 1] - level_height[k], db = sigma[k + 1] - sigma[k];
                    const REAL *restrict a = column + k * sk;
                    REAL *restrict r = ratio + k * width, *restrict p = partial + k * width;
                    const REAL *restrict r_below = r - width, *restrict p_below = p - width;
#pragma omp simd
                    for (int i = 0; i < n; i++) {
                        const REAL above = da + db * ground[i], below = gap[i];
                        const REAL up = strength / above, down = conductance[i];
                        const REAL layer = (REAL)0.5 * (above + below);
                        const REAL inverse = 1 / (layer + up + down * (1 - r_below[i]));
                        r[i] = up * inverse;
                        p[i] = (layer * a[i] + down * p_below[i]) * inverse;
                        gap[i] = above;
                        conductance[i] = up;
                    }
                }
                {
                    const int k = nk - 1;
                    const REAL *restrict a = column + k * sk;
                    REAL *restrict out = stream ? x : column_new + k * sk;
                    const REAL *restrict r_below = ratio + (k - 1) * width, *restrict p_below = partial + (k - 1) * width;
#pragma omp simd
                    for (int i = 0; i < n; i++) {
                        const REAL inverse = 1 / (gap[i] + conductance[i] * (1 - r_below[i]));
                        out[i] = x[i] = (gap[i] * a[i] + conductance[i] * p_below[i]) * inverse;
                    }
                    if (stream) NAME(stream_row)(column_new + k * sk, x, n);
                }
                for (int k = nk - 2; k >= 0; k--) {
                    const REAL *restrict r = ratio + k * width, *restrict p = partial + k * width;
                    if (stream) {
#pragma omp simd
                        for (int i = 0; i < n; i++) x[i] = p[i] + r[i] * x[i];
                        NAME(stream_row)(column_new + k * sk, x, n);
                    } else {
                        REAL *restrict out = column_new + k * sk;
#pragma omp simd
                        for (int i = 0; i < n; i++) out[i] = x[i] = p[i] + r[i] * x[i];
                    }
                }
            }
        free(scratch);
        _mm_sfence();
    }
}

/* The machine's limit: one array read, one written. */
void NAME(copy)(const REAL *from, REAL *to, int ni, int nj, int nk, ptrdiff_t sj, ptrdiff_t sk, int stream) {
#pragma omp parallel
    {
#pragma omp for collapse(2) schedule(static)
        for (int k = 0; k < nk; k++)
            for (int j = 0; j < nj; j++) {
                const REAL *restrict a = from + k * sk + j * sj;
                REAL *restrict b = to + k * sk + j * sj;
                if (stream) NAME(stream_row)(b, a, ni);
                else memcpy(b, a, (size_t)ni * sizeof(REAL));
            }
        _mm_sfence();
    }
}
