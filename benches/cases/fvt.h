/* The slope in a cell between two others, no larger than what keeps the values between theirs. */
static inline REAL NAME(fvt_slope)(REAL before, REAL here, REAL after) {
    const REAL mean = (REAL)0.25 * (after - before);
    /* Where one of them is NaN the mean is, or what is taken off. */
    const REAL most = MAX(MAX(before, here), after) - here, least = here - MIN(MIN(before, here), after);
    const REAL size = NAN_OF(most, least, MIN(MIN(ABS(mean), most), least));
    return mean > 0 ? size : -size;
}

static inline REAL NAME(fvt_side)(REAL before, REAL here, REAL slope_before, REAL slope) {
    return (REAL)0.5 * (before + here) + NAME(third)(slope_before - slope);
}

/* How far the value on a side may be from the mean of the cell. */
static inline REAL NAME(fvt_limited)(REAL side, REAL here, REAL slope) {
    const REAL most = 2 * ABS(slope), distance = ABS(side - here);
    return NAN_OF(distance, distance, MIN(most, distance));
}

static inline REAL NAME(fvt_upwind)(REAL before, REAL after_before, REAL curve_before, REAL here, REAL before_here, REAL curve,
                                    REAL c) {
    const REAL from_before = before + (1 - c) * (after_before - c * curve_before);
    const REAL from_here = here + (1 + c) * (before_here + c * curve);
    return c > 0 ? from_before : from_here;
}

/* What is carried through the western sides of the points 0 to n of a row. */
static inline void NAME(fvt_carried_i)(REAL *restrict carried, const REAL *restrict q, const REAL *restrict c,
                                       REAL *restrict slope, REAL *restrict west, REAL *restrict east, int n) {
#pragma omp simd
    for (int i = -2; i <= n + 1; i++) slope[i] = NAME(fvt_slope)(q[i - 1], q[i], q[i + 1]);
#pragma omp simd
    for (int i = -1; i <= n; i++) {
        const REAL side = NAME(fvt_side)(q[i - 1], q[i], slope[i - 1], slope[i]);
        const REAL next = NAME(fvt_side)(q[i], q[i + 1], slope[i], slope[i + 1]);
        const REAL w = NAME(fvt_limited)(side, q[i], slope[i]), e = NAME(fvt_limited)(next, q[i], slope[i]);
        west[i] = slope[i] > 0 ? -w : w;
        east[i] = slope[i] > 0 ? e : -e;
    }
#pragma omp simd
    for (int i = 0; i <= n; i++)
        carried[i] = NAME(fvt_upwind)(q[i - 1], east[i - 1], west[i - 1] + east[i - 1], q[i], west[i], west[i] + east[i], c[i]);
}

/* The same without rows between, each slope computed anew where it is needed, in the cells upwind only. */
static inline void NAME(fvt_carried_i_at_once)(REAL *restrict carried, const REAL *restrict q, const REAL *restrict c, int n) {
#pragma omp simd
    for (int i = 0; i <= n; i++) {
        const int from_west = c[i] > 0;
        const REAL q0 = from_west ? q[i - 3] : q[i - 2], q1 = from_west ? q[i - 2] : q[i - 1];
        const REAL q2 = from_west ? q[i - 1] : q[i], q3 = from_west ? q[i] : q[i + 1];
        const REAL q4 = from_west ? q[i + 1] : q[i + 2];
        const REAL before = NAME(fvt_slope)(q0, q1, q2), slope = NAME(fvt_slope)(q1, q2, q3);
        const REAL after = NAME(fvt_slope)(q2, q3, q4);
        const REAL to_west = NAME(fvt_limited)(NAME(fvt_side)(q1, q2, before, slope), q2, slope);
        const REAL to_east = NAME(fvt_limited)(NAME(fvt_side)(q2, q3, slope, after), q2, slope);
        const REAL west = slope > 0 ? -to_west : to_west, east = slope > 0 ? to_east : -to_east;
        const REAL curve = west + east, near = from_west ? east : west, size = ABS(c[i]);
        carried[i] = q2 + (1 - size) * (near - size * curve);
    }
}

/* What is known of the rows so far: slopes and southern sides of the last but one, northern part and curve of the one before. */
struct NAME(fvt_rows) {
    REAL *slope, *side, *north, *curve;
};

/* Takes in the row `r`; gives what is carried through the southern sides of row r - 2, from rows r - 3 to r. */
static inline void NAME(fvt_carried_j)(REAL *restrict carried, const REAL *restrict q3, const REAL *restrict q2,
                                       const REAL *restrict q1, const REAL *restrict q0, const REAL *restrict c,
                                       struct NAME(fvt_rows) known, int begin, int end) {
    REAL *restrict slopes = known.slope, *restrict sides = known.side, *restrict norths = known.north,
                   *restrict curves = known.curve;
#pragma omp simd
    for (int i = begin; i < end; i++) {
        const REAL slope = slopes[i], next = NAME(fvt_slope)(q2[i], q1[i], q0[i]);
        const REAL side = sides[i], next_side = NAME(fvt_side)(q2[i], q1[i], slope, next);
        const REAL s = NAME(fvt_limited)(side, q2[i], slope), n = NAME(fvt_limited)(next_side, q2[i], slope);
        const REAL south = slope > 0 ? -s : s, north = slope > 0 ? n : -n, curve = south + north;
        carried[i] = NAME(fvt_upwind)(q3[i], norths[i], curves[i], q2[i], south, curve, c[i]);
        slopes[i] = next;
        sides[i] = next_side;
        norths[i] = north;
        curves[i] = curve;
    }
}

/* Works down the rows of a block; every stage of every row is computed once, and stays in the nearest caches. */
KERNEL(fvt) {
    FIELD(q, 0);
    FIELD(ci, 1);
    FIELD(cj, 2);
    RESULT(q_new, 3);
    const int rows = tuning[0], buffered = tuning[1], stream = tuning[2], blocks = (nj + rows - 1) / rows;
#pragma omp parallel
    {
        enum { BUFFERS = 26 };
        /* Whole vectors: what the first and the last one have outside of a row is in the same cache line, and not used. */
        const int before = -LANES, behind = (ni + 3 + LANES - 1) / LANES * LANES, inside = (ni + LANES - 1) / LANES * LANES;
        const size_t width = NAME(width)(ni);
        REAL *scratch = NAME(scratch)(BUFFERS + 1, ni), *buffer[BUFFERS];
        memset(scratch, 0, (BUFFERS + 1) * width * sizeof(REAL));
        for (int n = 0; n < BUFFERS; n++) buffer[n] = scratch + n * width + LANES;
        REAL *slope = buffer[0], *west = buffer[1], *east = buffer[2], *q_j = buffer[3], *outer_i = buffer[4], *line = buffer[5];
        REAL **inner_i = buffer + 6, **q_i = buffer + 10, **inner_j = buffer + 14, **outer_j = buffer + 16;
        struct NAME(fvt_rows) of_q = {buffer[18], buffer[19], buffer[20], buffer[21]};
        struct NAME(fvt_rows) of_q_i = {buffer[22], buffer[23], buffer[24], buffer[25]};
#pragma omp for collapse(2) schedule(static)
        for (int k = 0; k < nk; k++)
            for (int block = 0; block < blocks; block++) {
                const int begin = block * rows, end = begin + rows < nj ? begin + rows : nj;
                const REAL *level = q + k * sk;
#define ROW(j) (level + ((j) > begin - 3 ? (j) : begin - 3) * sj)
#define OF(ring, count, j) ring[((j) + 8) % count]
                for (int r = begin - 3; r < end + 3; r++) {
                    const int j = r - 3;
                    REAL *inner = OF(inner_i, 4, r), *newest = OF(q_i, 4, r);
                    const REAL *restrict c = ci + k * sk + r * sj, *restrict a = level + r * sj;
                    if (buffered) NAME(fvt_carried_i)(inner, a, c, slope, west, east, ni);
                    else NAME(fvt_carried_i_at_once)(inner, a, c, ni);
                    {
                        REAL *restrict to = newest;
                        const REAL *restrict f = inner;
#pragma omp simd
                        for (int i = 0; i < ni; i++) to[i] = (a[i] + c[i] * f[i] - c[i + 1] * f[i + 1]) / (1 + c[i] - c[i + 1]);
                    }
                    if (r < begin - 1) continue;
                    const REAL *c_next = cj + k * sk + (r > begin + 2 ? r - 2 : begin) * sj;
                    NAME(fvt_carried_j)(OF(inner_j, 2, r), ROW(r - 3), ROW(r - 2), ROW(r - 1), a, c_next, of_q, before,
                                        behind);
                    NAME(fvt_carried_j)(OF(outer_j, 2, r), OF(q_i, 4, r - 3), OF(q_i, 4, r - 2), OF(q_i, 4, r - 1), newest,
                                        c_next, of_q_i, 0, inside);
                    if (j < begin) continue;
                    const REAL *restrict cs = cj + k * sk + j * sj, *restrict cn = cs + sj;
                    const REAL *restrict here = level + j * sj, *restrict cw = ci + k * sk + j * sj;
                    const REAL *restrict js = OF(inner_j, 2, r - 1), *restrict jn = OF(inner_j, 2, r);
                    {
                        REAL *restrict to = q_j;
#pragma omp simd
                        for (int i = before; i < behind; i++) to[i] = (here[i] + cs[i] * js[i] - cn[i] * jn[i]) / (1 + cs[i] - cn[i]);
                    }
                    if (buffered) NAME(fvt_carried_i)(outer_i, q_j, cw, slope, west, east, ni);
                    else NAME(fvt_carried_i_at_once)(outer_i, q_j, cw, ni);
                    const REAL *restrict os = OF(outer_j, 2, r - 1), *restrict on = OF(outer_j, 2, r);
                    const REAL *restrict oi = outer_i, *restrict ii = OF(inner_i, 4, j);
                    REAL *out = q_new + k * sk + j * sj;
                    REAL *restrict to = stream ? line : out;
#pragma omp simd
                    for (int i = 0; i < ni; i++)
                        to[i] = here[i] + (REAL)0.5 * (cw[i] * (oi[i] + ii[i]) - cw[i + 1] * (oi[i + 1] + ii[i + 1]) +
                                                       cs[i] * (os[i] + js[i]) - cn[i] * (on[i] + jn[i]));
                    if (stream) NAME(stream_row)(out, line, ni);
                }
#undef ROW
#undef OF
            }
        free(scratch);
        _mm_sfence();
    }
}
