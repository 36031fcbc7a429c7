/* Works on blocks of columns whose two coefficients per level stay in the second-level cache. */
KERNEL(vdiff) {
    FIELD(phi, 0);
    FIELD(level_height, 1);
    FIELD(sigma, 2);
    FIELD(surface_altitude, 3);
    RESULT(phi_new, 4);
    const int columns = tuning[0], stream = tuning[1], blocks = (ni + columns - 1) / columns;
    const REAL strength = scalars[0] * scalars[1];
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
