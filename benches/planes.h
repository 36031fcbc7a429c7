/* `cases/hdiff.h` and `cases/lap7.h` as an expert writes them for columns that are contiguous: vectors of levels, column after column along
 * J, in blocks of these, row after row along I; included once per type, with REAL, LANES and what depends on it defined.
 *
 * Fields have two columns on either side of the domain, each of whole lines. Lines of the row after the next one may be asked for.
 */

#define VECTOR NAME(vector)
#define VECTORS (MOST_LEVELS / LANES)

/* As strict as fieldstone's. */
#pragma GCC push_options
#pragma GCC optimize("fp-contract=off")

/* Points of the domain, elements of a column, columns of a block, and what is chosen. */
typedef struct {
    size_t ni, nj, nk, pitch, block, streams, ahead;
} NAME(plane);

INLINE const VECTOR *NAME(column)(const NAME(plane) *plane, const REAL *field, size_t i, size_t j) {
    return (const VECTOR *)(field + ((i + 2) * (plane->nj + 4) + j + 2) * plane->pitch);
}

INLINE void NAME(put)(size_t streams, VECTOR *to, VECTOR value) {
    if (streams)
        stream((char *)to, (vector)value);
    else
        *to = value;
}

INLINE void NAME(ask)(const NAME(plane) *plane, const REAL *field, size_t i, size_t j, size_t count) {
    if (plane->ahead && i + 2 < plane->ni + 2)
        for (size_t v = 0; v < count; v++) __builtin_prefetch(NAME(column)(plane, field, i + 2, j) + v);
}

/* Rows `first` to `last` of results in the columns `begin` to `end`: the fluxes to the east of each row are kept for the next one, three rows
 * of the Laplacian, and the flux to the south of each column. */
INLINE void NAME(hdiff_block)(const NAME(plane) *plane, const REAL *q, const REAL *coefficient, REAL *q_new, size_t first, size_t last,
                              size_t begin, size_t end, VECTOR (*lap)[VECTORS], VECTOR (*east)[VECTORS]) {
    const size_t count = (plane->nk + LANES - 1) / LANES, width = plane->block + 2;
    VECTOR south[VECTORS];
    /* Row i of the Laplacian, and the results of the one before. Indices wrap at zero, to the columns around the domain. */
    for (size_t i = first - 1; i != last + 1; i++) {
        VECTOR(*const here)[VECTORS] = lap + (i + 3) % 3 * width, (*const before)[VECTORS] = lap + (i + 2) % 3 * width;
        for (size_t n = 0; n < end - begin + 2; n++) {
            const size_t j = begin + n - 1;
            const VECTOR *const a = NAME(column)(plane, q, i, j), *const w = NAME(column)(plane, q, i - 1, j);
            const VECTOR *const e = NAME(column)(plane, q, i + 1, j), *const s = NAME(column)(plane, q, i, j - 1);
            const VECTOR *const o = NAME(column)(plane, q, i, j + 1);
            NAME(ask)(plane, q, i, j, count);
            for (size_t v = 0; v < count; v++) here[n][v] = 4 * a[v] - (e[v] + w[v] + o[v] + s[v]);
        }
        if (i == first - 1) continue;
        for (size_t n = 1; n < end - begin + 1; n++) {
            const size_t j = begin + n - 1;
            const VECTOR *const a = NAME(column)(plane, q, i - 1, j), *const e = NAME(column)(plane, q, i, j);
            const VECTOR *const s = NAME(column)(plane, q, i - 1, j - 1), *const o = NAME(column)(plane, q, i - 1, j + 1);
            if (i == first) {
                for (size_t v = 0; v < count; v++) east[n][v] = NAME(limited)(here[n][v] - before[n][v], e[v] - a[v]);
                continue;
            }
            const VECTOR *const alpha = NAME(column)(plane, coefficient, i - 1, j);
            VECTOR *const to = (VECTOR *)NAME(column)(plane, q_new, i - 1, j);
            NAME(ask)(plane, coefficient, i - 1, j, count);
            if (n == 1)
                for (size_t v = 0; v < count; v++) south[v] = NAME(limited)(before[n][v] - before[n - 1][v], a[v] - s[v]);
            for (size_t v = 0; v < count; v++) {
                const VECTOR to_east = NAME(limited)(here[n][v] - before[n][v], e[v] - a[v]);
                const VECTOR north = NAME(limited)(before[n + 1][v] - before[n][v], o[v] - a[v]);
                NAME(put)(plane->streams, to + v, a[v] - alpha[v] * (to_east - east[n][v] + north - south[v]));
                east[n][v] = to_east;
                south[v] = north;
            }
        }
    }
}

/* `lap7` of a column. */
INLINE void NAME(lap7_column)(const NAME(plane) *plane, const REAL *q, REAL *lap, size_t i, size_t j) {
    const size_t row = (plane->nj + 4) * plane->pitch, nk = plane->nk;
    const REAL *restrict const a = (const REAL *)NAME(column)(plane, q, i, j);
    const REAL *restrict const w = a - row, *restrict const e = a + row, *restrict const s = a - plane->pitch,
                               *restrict const o = a + plane->pitch;
    REAL *const to = (REAL *)NAME(column)(plane, lap, i, j);
    NAME(ask)(plane, q, i, j, (nk + LANES - 1) / LANES);
#define AT_LEVEL(k) (-6 * a[k] + ((w[k] + e[k]) + (s[k] + o[k]) + (a[(k) - 1] + a[(k) + 1])))
    if (!plane->streams) {
#pragma omp simd
        for (size_t k = 1; k < nk - 1; k++) to[k] = AT_LEVEL(k);
        return;
    }
    for (size_t k = 1; k < LANES; k++) to[k] = AT_LEVEL(k);
    const size_t whole = (nk - 1) / LANES;
    for (size_t v = 1; v < whole; v++) {
        const size_t k = v * LANES;
        const VECTOR around = NAME(load)(a + k - 1) + NAME(load)(a + k + 1);
        const VECTOR value = -6 * *(VECTOR *)(a + k) +
                             ((*(VECTOR *)(w + k) + *(VECTOR *)(e + k)) + (*(VECTOR *)(s + k) + *(VECTOR *)(o + k)) + around);
        NAME(put)(1, (VECTOR *)to + v, value);
    }
    for (size_t k = whole * LANES; k < nk - 1; k++) to[k] = AT_LEVEL(k);
#undef AT_LEVEL
}

/* Without coefficients it is `lap7`. */
void NAME(along_k)(size_t calls, size_t block, size_t streams, size_t ahead, size_t ni, size_t nj, size_t nk, size_t pitch, const REAL *q,
                   const REAL *coefficient, REAL *result) {
    const NAME(plane) plane = {ni, nj, nk, pitch, block, streams, ahead};
    const size_t blocks = (nj + block - 1) / block;
#pragma omp parallel
    {
        VECTOR(*const lap)[VECTORS] = aligned_alloc(LINE, 4 * (block + 2) * sizeof *lap);
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
#undef VECTORS
#undef VECTOR
