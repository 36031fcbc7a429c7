/* Works on blocks of columns, whose two coefficients of each level stay in the second-level cache with what is read twice. */
KERNEL(vadv) {
    RESULT(u_stage, 0);
    FIELD(u, 1);
    FIELD(w, 2);
    FIELD(u_now, 3);
    FIELD(tendency, 4);
    const REAL rate = scalars[0];
    const int columns = tuning[0], blocks = (ni + columns - 1) / columns;
#pragma omp parallel
    {
        REAL *scratch = aligned_alloc(64, 2 * (size_t)nk * columns * sizeof(REAL));
        REAL *cs = scratch, *ds = scratch + (size_t)nk * columns;
#pragma omp for collapse(2) schedule(static)
        for (int j = 0; j < nj; j++)
            for (int block = 0; block < blocks; block++) {
                const int first = block * columns, n = ni - first < columns ? ni - first : columns;
                const ptrdiff_t at = j * sj + first;
                {
                    const REAL *restrict v = u + at, *restrict wr = w + at, *restrict now = u_now + at;
                    const REAL *restrict tr = tendency + at, *restrict stage = u_stage + at;
                    REAL *restrict c = cs, *restrict d = ds;
#pragma omp simd
                    for (int i = 0; i < n; i++) {
                        const REAL upper = (REAL)0.125 * (wr[i + 1 + sk] + wr[i + sk]);
                        const REAL known = rate * now[i] + tr[i] + stage[i] - upper * (v[i + sk] - v[i]);
                        const REAL inverse = 1 / (rate - upper);
                        c[i] = upper * inverse;
                        d[i] = known * inverse;
                    }
                }
                for (int k = 1; k < nk - 1; k++) {
                    const ptrdiff_t row = at + k * sk;
                    const REAL *restrict v = u + row, *restrict wr = w + row, *restrict now = u_now + row;
                    const REAL *restrict tr = tendency + row, *restrict stage = u_stage + row;
                    REAL *restrict c = cs + k * columns, *restrict d = ds + k * columns;
                    const REAL *restrict c_below = c - columns, *restrict d_below = d - columns;
#pragma omp simd
                    for (int i = 0; i < n; i++) {
                        const REAL lower = (REAL)-0.125 * (wr[i + 1] + wr[i]);
                        const REAL upper = (REAL)0.125 * (wr[i + 1 + sk] + wr[i + sk]);
                        const REAL explicit = -lower * (v[i - sk] - v[i]) - upper * (v[i + sk] - v[i]);
                        const REAL known = rate * now[i] + tr[i] + stage[i] + explicit;
                        const REAL inverse = 1 / (rate - lower - upper - c_below[i] * lower);
                        c[i] = upper * inverse;
                        d[i] = (known - d_below[i] * lower) * inverse;
                    }
                }
                REAL *restrict x = ds + (nk - 1) * columns;
                {
                    const ptrdiff_t row = at + (nk - 1) * sk;
                    const REAL *restrict v = u + row, *restrict wr = w + row, *restrict now = u_now + row;
                    const REAL *restrict tr = tendency + row;
                    REAL *restrict stage = u_stage + row;
                    const REAL *restrict c_below = cs + (nk - 2) * columns, *restrict d_below = x - columns;
#pragma omp simd
                    for (int i = 0; i < n; i++) {
                        const REAL lower = (REAL)-0.125 * (wr[i + 1] + wr[i]);
                        const REAL known = rate * now[i] + tr[i] + stage[i] - lower * (v[i - sk] - v[i]);
                        x[i] = (known - d_below[i] * lower) / (rate - lower - c_below[i] * lower);
                        stage[i] = rate * (x[i] - now[i]);
                    }
                }
                for (int k = nk - 2; k >= 0; k--) {
                    const ptrdiff_t row = at + k * sk;
                    const REAL *restrict now = u_now + row, *restrict c = cs + k * columns, *restrict d = ds + k * columns;
                    REAL *restrict stage = u_stage + row;
#pragma omp simd
                    for (int i = 0; i < n; i++) {
                        x[i] = d[i] - c[i] * x[i];
                        stage[i] = rate * (x[i] - now[i]);
                    }
                }
            }
        free(scratch);
    }
}
