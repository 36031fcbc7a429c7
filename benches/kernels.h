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

/* A third of a number: with STRICT what a division gives, if the number is finite. */
static inline REAL NAME(third)(REAL x) {
    const REAL by_three = (REAL)(1.0 / 3);
#ifdef STRICT
    const REAL about = x * by_three;
    return FMA(FMA(about, -3, x), by_three, about);
#else
    return x * by_three;
#endif
}

/* As many multiplications with additions as the machine can do: so many steps of sixteen vectors on each thread. */
REAL NAME(peak)(long steps) {
    typedef REAL vector __attribute__((vector_size(BYTES)));
    REAL sum = 0;
#pragma omp parallel reduction(+ : sum)
    {
        enum { MANY = 16 };
        vector a[MANY], b = (vector){0} + (REAL)0.999999, c = (vector){0} + (REAL)1e-6;
        for (int n = 0; n < MANY; n++) a[n] = (vector){0} + (REAL)n;
        for (long step = 0; step < steps; step++)
            for (int n = 0; n < MANY; n++) a[n] = a[n] * b + c;
        for (int n = 0; n < MANY; n++) sum += a[n][0];
    }
    return sum;
}

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
