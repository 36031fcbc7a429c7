/* Rows of `cases/edges.h` and `cases/hdiff.h` without what memory has to do with them, where formulas are those of the middle of the domain;
 * included once per type, with REAL, LANES and what depends on it defined.
 *
 * Row j of a field is its row j modulo four; the first-level cache holds all of them. A row has two vectors around its points. What is read
 * at points beside each other is loaded across lines, but where it was just computed.
 */

#define VECTOR NAME(vector)

/* As strict as fieldstone's. */
#pragma GCC push_options
#pragma GCC optimize("fp-contract=off")

typedef REAL NAME(unaligned) __attribute__((vector_size(LINE), may_alias, aligned(sizeof(REAL))));

typedef VECTOR NAME(row)[MOST_VECTORS_OF_ROW];

/* What a core reads and writes. No row begins within three lines of another one, modulo a page: a load would wait for a store there. */
typedef struct {
    NAME(row) q[4], coefficient[4], kept[4], north, result;
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
INLINE void NAME(edges_row)(size_t j, size_t points, NAME(rows) *rows) {
#define FIELD(row) ((const REAL *)rows->q[(row) % 4] + 2 * LANES)
    const REAL *const q0 = FIELD(j + 2), *const q1 = FIELD(j + 3), *const q2 = FIELD(j), *const q3 = FIELD(j + 1);
    const VECTOR *const w0 = rows->kept[(j + 2) % 4], *const w1 = rows->kept[(j + 3) % 4], *const w2 = rows->kept[j % 4];
    VECTOR *const w3 = rows->kept[(j + 1) % 4];
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
        rows->result[n] = (REAL)0.5 * (along_i + along_j);
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
INLINE void NAME(hdiff_row)(size_t j, size_t points, NAME(rows) *rows) {
    const REAL *const q0 = FIELD(j), *const q1 = FIELD(j + 1), *const q2 = FIELD(j + 2);
    const VECTOR *const coefficient = rows->coefficient[j % 4] + 2;
    /* A vector on either side of the points as well. */
    const VECTOR *const lap = rows->kept[j % 2] + 1;
    VECTOR *const lap_north = rows->kept[(j + 1) % 2] + 1, *const north = rows->north;
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
        rows->result[n] = a - coefficient[n] * (east - west + to_north - south);
        before = east;
    }
    lap_north[points / LANES] = NAME(laplacian)(q0 + points, q1 + points, q2 + points);
}

#undef FIELD

/* As many rows of results as all calls have in the domain, shared by all cores; the last four of the first core are left in an array without gaps.
 * Coefficients are those of `hdiff`; without any it is `edges`. */
INLINE void NAME(work)(size_t calls, size_t count, size_t points, const REAL *q, const REAL *coefficient, REAL *results) {
    const size_t pitch = points + 4 * LANES;
#pragma omp parallel
    {
        NAME(rows) rows = {0};
        for (int n = 0; n < 4; n++) {
            memcpy(rows.q[n], q + n * pitch, pitch * sizeof(REAL));
            if (coefficient) memcpy(rows.coefficient[n], coefficient + n * pitch, pitch * sizeof(REAL));
        }
        const size_t all = calls * (count / omp_get_num_threads()) + 8;
        for (size_t j = 0; j < all; j++) {
            if (coefficient)
                NAME(hdiff_row)(j, points, &rows);
            else
                NAME(edges_row)(j, points, &rows);
            if (omp_get_thread_num() == 0 && j + 4 >= all)
                memcpy(results + j % 4 * points, rows.result, points * sizeof(REAL));
        }
    }
}

void NAME(edges_rows)(size_t calls, size_t count, size_t points, const REAL *q, REAL *corner) {
    NAME(work)(calls, count, points, q, NULL, corner);
}

void NAME(hdiff_rows)(size_t calls, size_t count, size_t points, const REAL *q, const REAL *coefficient, REAL *q_new) {
    NAME(work)(calls, count, points, q, coefficient, q_new);
}

#pragma GCC pop_options
#undef VECTOR
