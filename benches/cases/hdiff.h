static inline REAL NAME(hdiff_laplacian)(const REAL *restrict a, ptrdiff_t sj) {
    return (REAL)4 * a[0] - (a[1] + a[-1] + a[sj] + a[-sj]);
}

static inline REAL NAME(hdiff_limited)(REAL flux, REAL gradient) { return flux * gradient > 0 ? (REAL)0 : flux; }

/* Works down the rows of a block. The fluxes in J stay in the first-level cache from one row to the next; so do two rows of
 * the Laplacian if they are kept, else it is computed anew where it is needed. */
KERNEL(hdiff) {
    FIELD(q, 0);
    FIELD(coefficient, 1);
    RESULT(q_new, 2);
    const int rows = tuning[0], kept = tuning[1], stream = tuning[2], blocks = (nj + rows - 1) / rows;
#pragma omp parallel
    {
        const size_t width = NAME(width)(ni);
        REAL *scratch = NAME(scratch)(4, ni);
        REAL *lap = scratch + LANES, *lap_next = lap + width, *flux_j = lap_next + width, *line = flux_j + width;
#pragma omp for collapse(2) schedule(static)
        for (int k = 0; k < nk; k++)
            for (int block = 0; block < blocks; block++) {
                const int begin = block * rows, end = begin + rows < nj ? begin + rows : nj;
                const REAL *restrict a = q + k * sk + begin * sj;
#pragma omp simd
                for (int i = 0; i < ni; i++)
                    flux_j[i] = NAME(hdiff_limited)(NAME(hdiff_laplacian)(a + i, sj) - NAME(hdiff_laplacian)(a + i - sj, sj),
                                                    a[i] - a[i - sj]);
                if (kept)
#pragma omp simd
                    for (int i = -1; i <= ni; i++) lap[i] = NAME(hdiff_laplacian)(a + i, sj);
                for (int j = begin; j < end; j++, a += sj) {
                    const REAL *restrict c = a + sj, *restrict alpha = coefficient + k * sk + j * sj;
                    REAL *restrict g = flux_j, *restrict to = stream ? line : q_new + k * sk + j * sj;
                    if (kept) {
                        const REAL *restrict l = lap;
                        REAL *restrict m = lap_next;
                        m[-1] = NAME(hdiff_laplacian)(c - 1, sj);
                        m[ni] = NAME(hdiff_laplacian)(c + ni, sj);
#pragma omp simd
                        for (int i = 0; i < ni; i++) {
                            m[i] = NAME(hdiff_laplacian)(c + i, sj);
                            const REAL east = NAME(hdiff_limited)(l[i + 1] - l[i], a[i + 1] - a[i]);
                            const REAL west = NAME(hdiff_limited)(l[i] - l[i - 1], a[i] - a[i - 1]);
                            const REAL north = NAME(hdiff_limited)(m[i] - l[i], c[i] - a[i]);
                            to[i] = a[i] - alpha[i] * (east - west + north - g[i]);
                            g[i] = north;
                        }
                        REAL *swap = lap;
                        lap = lap_next;
                        lap_next = swap;
                    } else {
#pragma omp simd
                        for (int i = 0; i < ni; i++) {
                            const REAL here = NAME(hdiff_laplacian)(a + i, sj);
                            const REAL east = NAME(hdiff_limited)(NAME(hdiff_laplacian)(a + i + 1, sj) - here, a[i + 1] - a[i]);
                            const REAL west = NAME(hdiff_limited)(here - NAME(hdiff_laplacian)(a + i - 1, sj), a[i] - a[i - 1]);
                            const REAL north = NAME(hdiff_limited)(NAME(hdiff_laplacian)(c + i, sj) - here, c[i] - a[i]);
                            to[i] = a[i] - alpha[i] * (east - west + north - g[i]);
                            g[i] = north;
                        }
                    }
                    if (stream) NAME(stream_row)(q_new + k * sk + j * sj, line, ni);
                }
            }
        free(scratch);
        _mm_sfence();
    }
}
