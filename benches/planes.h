/* `cases/hdiff.h` and `cases/lap7.h` as an expert writes them for columns that are contiguous: loops over levels, column after column along
 * J, in blocks of these, row after row along I; included once per type, with REAL, LANES and what depends on it defined.
 *
 * Fields have two columns on either side of the domain, each of whole lines. Lines of the row after the next one may be asked for.
 */

/* As strict as fieldstone's. */
#pragma GCC push_options
#pragma GCC optimize("fp-contract=off")

typedef REAL NAME(levels)[MOST_LEVELS] __attribute__((aligned(LINE)));

/* Points of the domain, elements of a column, columns of a block, and what is chosen. */
typedef struct {
    size_t ni, nj, nk, pitch, block, streams, ahead;
} NAME(plane);

INLINE const REAL *NAME(column)(const NAME(plane) *plane, const REAL *field, size_t i, size_t j) {
    return __builtin_assume_aligned(field + ((i + 2) * (plane->nj + 4) + j + 2) * plane->pitch, LINE);
}

/* Stores what is not where it belongs yet, whole lines past the caches. */
INLINE void NAME(put)(REAL *to, const REAL *from, size_t begin, size_t end) {
    size_t k = begin;
    for (; k < end && k % LANES; k++) to[k] = from[k];
    for (; k + LANES <= end; k += LANES) stream((char *)(to + k), AT(from + k));
    for (; k < end; k++) to[k] = from[k];
}

INLINE void NAME(ask)(const NAME(plane) *plane, const REAL *field, size_t i, size_t j) {
    if (plane->ahead && i + 2 < plane->ni + 2)
        for (size_t k = 0; k < plane->nk; k += LANES) __builtin_prefetch(NAME(column)(plane, field, i + 2, j) + k);
}

INLINE REAL NAME(less)(REAL flux, REAL gradient) { return flux * gradient > 0 ? (REAL)0 : flux; }

INLINE void NAME(laplacian_of_column)(const NAME(plane) *plane, const REAL *q, size_t i, size_t j, REAL *restrict to) {
    const REAL *const a = NAME(column)(plane, q, i, j), *const w = NAME(column)(plane, q, i - 1, j);
    const REAL *const e = NAME(column)(plane, q, i + 1, j), *const s = NAME(column)(plane, q, i, j - 1);
    const REAL *const n = NAME(column)(plane, q, i, j + 1);
    NAME(ask)(plane, q, i, j);
#pragma omp simd
    for (size_t k = 0; k < plane->nk; k++) to[k] = 4 * a[k] - (e[k] + w[k] + n[k] + s[k]);
}

/* Rows `first` to `last` of results in the columns `begin` to `end`: the fluxes to the east of each row are kept for the next one, three rows
 * of the Laplacian, and the flux to the south of each column. */
INLINE void NAME(hdiff_block)(const NAME(plane) *plane, const REAL *q, const REAL *coefficient, REAL *q_new, size_t first, size_t last,
                              size_t begin, size_t end, NAME(levels) *lap, NAME(levels) *easts) {
    const size_t nk = plane->nk, width = plane->block + 2;
    NAME(levels) south, line;
    /* Row i of the Laplacian, and the results of the one before. Indices wrap at zero, to the columns around the domain. */
    for (size_t i = first - 1; i != last + 1; i++) {
        NAME(levels) *const laps = lap + (i + 3) % 3 * width, *const laps_before = lap + (i + 2) % 3 * width;
        for (size_t n = 0; n < end - begin + 2; n++) NAME(laplacian_of_column)(plane, q, i, begin + n - 1, laps[n]);
        if (i == first - 1) continue;
        for (size_t n = 1; n < end - begin + 1; n++) {
            const size_t j = begin + n - 1;
            const REAL *const a = NAME(column)(plane, q, i - 1, j), *const e = NAME(column)(plane, q, i, j);
            const REAL *const s = NAME(column)(plane, q, i - 1, j - 1), *const o = NAME(column)(plane, q, i - 1, j + 1);
            const REAL *const next = laps[n], *const here = laps_before[n], *const north = laps_before[n + 1];
            const REAL *const before = laps_before[n - 1];
            REAL *restrict const east = easts[n];
            if (i == first) {
#pragma omp simd
                for (size_t k = 0; k < nk; k++) east[k] = NAME(less)(next[k] - here[k], e[k] - a[k]);
                continue;
            }
            const REAL *const alpha = NAME(column)(plane, coefficient, i - 1, j);
            REAL *const out = (REAL *)NAME(column)(plane, q_new, i - 1, j), *restrict const to = plane->streams ? line : out;
            NAME(ask)(plane, coefficient, i - 1, j);
            if (n == 1)
#pragma omp simd
                for (size_t k = 0; k < nk; k++) south[k] = NAME(less)(here[k] - before[k], a[k] - s[k]);
#pragma omp simd
            for (size_t k = 0; k < nk; k++) {
                const REAL to_east = NAME(less)(next[k] - here[k], e[k] - a[k]);
                const REAL to_north = NAME(less)(north[k] - here[k], o[k] - a[k]);
                to[k] = a[k] - alpha[k] * (to_east - east[k] + to_north - south[k]);
                east[k] = to_east;
                south[k] = to_north;
            }
            if (plane->streams) NAME(put)(out, line, 0, nk);
        }
    }
}

/* `lap7` of a column. */
INLINE void NAME(lap7_column)(const NAME(plane) *plane, const REAL *q, REAL *lap, size_t i, size_t j) {
    const size_t row = (plane->nj + 4) * plane->pitch, nk = plane->nk;
    const REAL *const a = NAME(column)(plane, q, i, j), *const w = a - row, *const e = a + row;
    const REAL *const s = a - plane->pitch, *const n = a + plane->pitch;
    NAME(levels) line;
    REAL *const out = (REAL *)NAME(column)(plane, lap, i, j), *restrict const to = plane->streams ? line : out;
    NAME(ask)(plane, q, i, j);
#pragma omp simd
    for (size_t k = 1; k < nk - 1; k++) to[k] = -6 * a[k] + ((w[k] + e[k]) + (s[k] + n[k]) + (a[k - 1] + a[k + 1]));
    if (plane->streams) NAME(put)(out, line, 1, nk - 1);
}

/* Without coefficients it is `lap7`. */
void NAME(along_k)(size_t calls, size_t block, size_t streams, size_t ahead, size_t ni, size_t nj, size_t nk, size_t pitch, const REAL *q,
                   const REAL *coefficient, REAL *result) {
    const NAME(plane) plane = {ni, nj, nk, pitch, block, streams, ahead};
    const size_t blocks = (nj + block - 1) / block;
#pragma omp parallel
    {
        NAME(levels) *const lap = aligned_alloc(LINE, 4 * (block + 2) * sizeof *lap);
        const size_t parts = omp_get_num_threads();
        for (size_t call = 0; call < calls; call++) {
#pragma omp for collapse(2) schedule(static)
            for (size_t part = 0; part < parts; part++)
                for (size_t number = 0; number < blocks; number++) {
                    const size_t first = part * ni / parts, last = (part + 1) * ni / parts, begin = number * block;
                    const size_t end = begin + block < nj ? begin + block : nj;
                    if (coefficient)
                        NAME(hdiff_block)(&plane, q, coefficient, result, first, last, begin, end, lap, lap + 3 * (block + 2));
                    else
                        for (size_t i = first; i < last; i++)
                            for (size_t j = begin; j < end; j++) NAME(lap7_column)(&plane, q, result, i, j);
                }
            _mm_sfence();
        }
        free(lap);
    }
}

#pragma GCC pop_options
