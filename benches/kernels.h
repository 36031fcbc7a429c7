/* All kernels for one element type; included once per type, with REAL and what depends on it defined. */

/* Elements of a row of scratch memory: at least a vector before and behind the points of the domain, and an odd number of
 * cache lines, so that rows do not fall into the same sets. */
static inline size_t NAME(width)(int n) {
    const size_t line = 64 / sizeof(REAL);
    return (((size_t)n + 2 * LANES + line - 1) / line | 1) * line;
}

static inline REAL *NAME(scratch)(int rows, int n) { return aligned_alloc(64, rows * NAME(width)(n) * sizeof(REAL)); }

/* Stores a row past the caches. */
static inline void NAME(stream_row)(REAL *restrict to, const REAL *restrict from, int n) {
    int i = 0;
    for (; i + LANES <= n; i += LANES) STREAM(to + i, from + i);
    for (; i < n; i++) to[i] = from[i];
}

/* What all kernels take: fields and numbers in the order of the case, points, strides, and the choices. */
#ifndef KERNEL
#define KERNEL(name)                                                                                                     \
    void NAME(name)(REAL *const *fields, const REAL *scalars, const int *tuning, int ni, int nj, int nk, ptrdiff_t sj,   \
                    ptrdiff_t sk, ptrdiff_t sj_surface)
#define FIELD(name, number) const REAL *const name = fields[number]
#define RESULT(name, number) REAL *const name = fields[number]
#endif

#include "cases/acoustic.h"
#include "cases/cloud.h"
#include "cases/copy.h"
#include "cases/edges.h"
#include "cases/fvt.h"
#include "cases/hdiff.h"
#include "cases/lap7.h"
#include "cases/satvp.h"
#include "cases/vadv.h"
#include "cases/vdiff.h"
