/* Works down blocks of columns, with everything of a level in one pass; the flux of rain stays in the first-level cache. */
KERNEL(cloud) {
    FIELD(t, 0);
    FIELD(vapour, 1);
    FIELD(water, 2);
    FIELD(rain, 3);
    FIELD(p, 4);
    FIELD(density, 5);
    FIELD(thickness, 6);
    RESULT(t_new, 7);
    RESULT(vapour_new, 8);
    RESULT(water_new, 9);
    RESULT(rain_new, 10);
    RESULT(precipitation, 11);
    const REAL dt = scalars[0];
    const int columns = tuning[0], stream = tuning[1], blocks = (ni + columns - 1) / columns;
#pragma omp parallel
    {
        const size_t width = NAME(width)(columns);
        REAL *scratch = NAME(scratch)(5, columns);
#pragma omp for collapse(2) schedule(static)
        for (int j = 0; j < nj; j++)
            for (int block = 0; block < blocks; block++) {
                const int first = block * columns, n = ni - first < columns ? ni - first : columns;
                REAL *restrict flux = scratch;
                memset(flux, 0, n * sizeof(REAL));
                for (int k = nk - 1; k >= 0; k--) {
                    const ptrdiff_t row = k * sk + j * sj + first;
                    const REAL *restrict tr = t + row, *restrict vr = vapour + row, *restrict wr = water + row;
                    const REAL *restrict rr = rain + row, *restrict pr = p + row, *restrict dr = density + row;
                    REAL *restrict to_t = stream ? scratch + width : t_new + row;
                    REAL *restrict to_v = stream ? scratch + 2 * width : vapour_new + row;
                    REAL *restrict to_w = stream ? scratch + 3 * width : water_new + row;
                    REAL *restrict to_r = stream ? scratch + 4 * width : rain_new + row;
                    const REAL of_thickness = 1 / thickness[k];
#pragma omp simd
                    for (int i = 0; i < n; i++) {
                        const REAL off = 1 / (tr[i] - (REAL)29.65);
                        const REAL pressure = (REAL)611.2 * EXP((REAL)17.67 * (tr[i] - (REAL)273.15) * off);
                        const REAL saturated = (REAL)0.622 * pressure / (pr[i] - (REAL)0.378 * pressure);
                        const REAL steepness = (REAL)4302.645 * saturated * off * off;
                        const REAL excess = (vr[i] - saturated) / (1 + 2488 * steepness);
                        const REAL least = -wr[i];
                        const REAL condensed = NAN_OF(least, least, MAX(excess, least));
                        const REAL moist = vr[i] - condensed, liquid = wr[i] + condensed;
                        const REAL over = liquid - (REAL)0.0005;
                        const REAL formed = (REAL)0.001 * dt * MAX(over, 0);
                        const int rains = rr[i] > (REAL)0.000001;
                        /* Vector functions are slow at zero; where it counts, the sum is what it was. */
                        const REAL power = POW(rr[i] + (REAL)1e-30, (REAL)0.875), root = SQRT(rr[i]);
                        const REAL collected = rains ? (REAL)2.2 * dt * liquid * power : 0;
                        const REAL dryness = saturated - moist, missing = MAX(dryness, 0);
                        const REAL could = (REAL)0.01 * dt * missing * root, does = NAN_OF(rr[i], rr[i], MIN(could, rr[i]));
                        const REAL evaporated = rains ? does : 0;
                        const REAL sum = formed + collected, moved = NAN_OF(liquid, liquid, MIN(sum, liquid));
                        to_w[i] = liquid - moved;
                        to_v[i] = moist + evaporated;
                        to_t[i] = tr[i] + 2488 * (condensed - evaporated);
                        const REAL rest = rr[i] + moved - evaporated, falling = MAX(rest, 0);
                        const REAL amount = (REAL)0.001 * dr[i] * falling;
                        const REAL quick = POW(amount + (REAL)1e-30, (REAL)0.1364) * SQRT((REAL)1.2 / dr[i]);
                        const REAL speed = amount > 0 ? (REAL)36.34 * quick : 0;
                        const REAL left =
                            (falling + dt * flux[i] * of_thickness / dr[i]) / (1 + dt * speed * of_thickness);
                        flux[i] = dr[i] * speed * left;
                        to_r[i] = left;
                    }
                    if (stream) {
                        NAME(stream_row)(t_new + row, to_t, n);
                        NAME(stream_row)(vapour_new + row, to_v, n);
                        NAME(stream_row)(water_new + row, to_w, n);
                        NAME(stream_row)(rain_new + row, to_r, n);
                    }
                }
                REAL *restrict to = precipitation + j * sj_surface + first;
                for (int i = 0; i < n; i++) to[i] = dt * flux[i];
            }
        free(scratch);
        _mm_sfence();
    }
}
