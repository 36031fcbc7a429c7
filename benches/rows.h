/* Rows of `cases/edges.h` and `cases/hdiff.h` without what memory has to do with them, where formulas are those of the middle of the domain;
 * included once per type, with REAL, LANES and what depends on it defined.
 *
 * Row j is row j modulo four of all arrays, which the first-level cache holds. A row has two vectors around its points. What is read at
 * points beside each other is loaded across lines, but where it was just computed.
 */

#define VECTOR NAME(vector)

/* As strict as fieldstone's. */
#pragma GCC push_options
#pragma GCC optimize("fp-contract=off")

typedef REAL NAME(unaligned) __attribute__((vector_size(LINE), may_alias, aligned(sizeof(REAL))));

typedef struct {
    VECTOR rows[4][MOST_VECTORS_OF_ROW];
} NAME(rows);

INLINE VECTOR NAME(load)(const REAL *address) { return *(const NAME(unaligned) *)address; }

/* The vector that begins n lanes after the first one of two that follow each other. */
INLINE VECTOR NAME(after)(VECTOR first, VECTOR second, int n) { return __builtin_shuffle(first, second, COUNTED + n); }

INLINE VECTOR NAME(side)(VECTOR a, VECTOR b, VECTOR c, VECTOR d) {
    return (REAL)(7.0 / 12) * (b + c) - (REAL)(1.0 / 12) * (a + d);
}

INLINE VECTOR NAME(corner)(VECTOR a, VECTOR b, VECTOR c, VECTOR d) {
    return (REAL)(9.0 / 16) * (b + c) - (REAL)(1.0 / 16) * (a + d);
}

/* One row of corners; the rows before and after it come first, and the western side of the latter is kept. */
INLINE void NAME(edges_row)(size_t j, size_t points, const REAL *const *q, NAME(rows) *west, VECTOR *corner) {
    const REAL *const q0 = q[(j + 2) % 4], *const q1 = q[(j + 3) % 4], *const q2 = q[j % 4], *const q3 = q[(j + 1) % 4];
    const VECTOR *const w0 = west->rows[(j + 2) % 4], *const w1 = west->rows[(j + 3) % 4], *const w2 = west->rows[j % 4];
    VECTOR *const w3 = west->rows[(j + 1) % 4];
#define SOUTH(i) NAME(side)(*(VECTOR *)(q0 + (i)), *(VECTOR *)(q1 + (i)), *(VECTOR *)(q2 + (i)), *(VECTOR *)(q3 + (i)))
    VECTOR before = SOUTH(-LANES), here = SOUTH(0);
    for (size_t i = 0; i < points; i += LANES) {
        const VECTOR next = SOUTH(i + LANES), side = NAME(side)(NAME(load)(q3 + i - 2), NAME(load)(q3 + i - 1),
                                                               *(VECTOR *)(q3 + i), NAME(load)(q3 + i + 1));
        const size_t n = i / LANES;
        w3[n] = side;
        const VECTOR along_j = NAME(corner)(w0[n], w1[n], w2[n], side);
        const VECTOR along_i = NAME(corner)(NAME(after)(before, here, LANES - 2), NAME(after)(before, here, LANES - 1), here,
                                            NAME(after)(here, next, 1));
        corner[n] = (REAL)0.5 * (along_i + along_j);
        before = here;
        here = next;
    }
#undef SOUTH
}

INLINE VECTOR NAME(laplacian)(const REAL *south, const REAL *here, const REAL *north) {
    return 4 * *(VECTOR *)here - (NAME(load)(here + 1) + NAME(load)(here - 1) + *(VECTOR *)north + *(VECTOR *)south);
}

INLINE VECTOR NAME(limited)(VECTOR flux, VECTOR gradient) {
    return (VECTOR)(~(flux * gradient > 0) & (typeof(flux > 0))flux);
}

/* One row of new values; the Laplacian of the row after it and the fluxes towards that are kept. */
INLINE void NAME(hdiff_row)(
    size_t j, size_t points, const REAL *const *q, const REAL *coefficient, NAME(rows) *kept, VECTOR *north, VECTOR *q_new) {
    const REAL *const q0 = q[j % 4], *const q1 = q[(j + 1) % 4], *const q2 = q[(j + 2) % 4];
    /* A vector on either side of the points as well. */
    const VECTOR *const lap = kept->rows[j % 4] + 1;
    VECTOR *const lap_north = kept->rows[(j + 1) % 4] + 1;
    lap_north[-1] = NAME(laplacian)(q0 - LANES, q1 - LANES, q2 - LANES);
    VECTOR before = NAME(limited)(lap[0] - NAME(load)((REAL *)lap - 1), *(VECTOR *)q0 - NAME(load)(q0 - 1));
    before = NAME(after)(before, before, 1);
    for (size_t i = 0; i < points; i += LANES) {
        const size_t n = i / LANES;
        const VECTOR a = *(VECTOR *)(q0 + i), l = lap[n], m = NAME(laplacian)(q0 + i, q1 + i, q2 + i);
        lap_north[n] = m;
        const VECTOR east = NAME(limited)(NAME(load)((REAL *)lap + i + 1) - l, NAME(load)(q0 + i + 1) - a);
        const VECTOR to_north = NAME(limited)(m - l, *(VECTOR *)(q1 + i) - a);
        const VECTOR west = NAME(after)(before, east, LANES - 1), south = north[n];
        north[n] = to_north;
        q_new[n] = a - *(VECTOR *)(coefficient + i) * (east - west + to_north - south);
        before = east;
    }
    lap_north[points / LANES] = NAME(laplacian)(q0 + points, q1 + points, q2 + points);
}

/* As many rows of results as all calls have in the domain, shared by all cores; the last four of the first core are left in an array without gaps.
 * Coefficients are those of `hdiff`; without any it is `edges`. */
INLINE void NAME(work)(size_t calls, size_t rows, size_t points, const REAL *q, const REAL *coefficient, REAL *results) {
    const size_t pitch = points + 4 * LANES;
#pragma omp parallel
    {
        NAME(rows) kept = {0}, found;
        VECTOR north[MOST_VECTORS_OF_ROW] = {{0}};
        const REAL *at[4];
        for (int n = 0; n < 4; n++) at[n] = q + n * pitch + 2 * LANES;
        const size_t all = calls * (rows / omp_get_num_threads()) + 8;
        for (size_t j = 0; j < all; j++)
            if (coefficient)
                NAME(hdiff_row)(j, points, at, coefficient + j % 4 * pitch + 2 * LANES, &kept, north, found.rows[j % 4]);
            else
                NAME(edges_row)(j, points, at, &kept, found.rows[j % 4]);
#pragma omp master
        for (int n = 0; n < 4; n++) memcpy(results + n * points, found.rows[n], points * sizeof(REAL));
    }
}

void NAME(edges_rows)(size_t calls, size_t rows, size_t points, const REAL *q, REAL *corner) {
    NAME(work)(calls, rows, points, q, NULL, corner);
}

void NAME(hdiff_rows)(size_t calls, size_t rows, size_t points, const REAL *q, const REAL *coefficient, REAL *q_new) {
    NAME(work)(calls, rows, points, q, coefficient, q_new);
}

#pragma GCC pop_options
#undef VECTOR
