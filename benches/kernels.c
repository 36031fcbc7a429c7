/* The benchmark stencils as an expert writes them by hand: fused over tiles that fit the caches, vectorised along I, on all
 * cores, with stores past the caches where that pays. Built by benches/compiled.py; benches/case.py says what the choices of
 * each kernel are.
 *
 * Arrays lie I-contiguous, [k][j][i], all with the same strides; a pointer is at the first point of the compute domain, which
 * is aligned to 64 bytes in every row.
 */
#include <immintrin.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* One instruction each, and the first of both where one is NaN. */
#define MIN(a, b) ((b) < (a) ? (b) : (a))
#define MAX(a, b) ((b) > (a) ? (b) : (a))

/* NaN where one of two numbers is, else what is found: only where all is as strict as it is in the stencils, when nothing is
 * contracted either (see benches/contenders/c.py). */
#ifdef STRICT
#define NAN_OF(a, b, found) (__builtin_isunordered(a, b) ? (REAL)__builtin_nan("") : (found))
#else
#define NAN_OF(a, b, found) (found)
#endif

/* The vector functions of glibc's libmvec, without -ffast-math. */
#pragma omp declare simd notinbranch
__attribute__((const)) extern double exp(double);
#pragma omp declare simd notinbranch
__attribute__((const)) extern double log(double);
#pragma omp declare simd notinbranch
__attribute__((const)) extern double pow(double, double);
#pragma omp declare simd notinbranch
__attribute__((const)) extern float expf(float);
#pragma omp declare simd notinbranch
__attribute__((const)) extern float logf(float);
#pragma omp declare simd notinbranch
__attribute__((const)) extern float powf(float, float);

#if defined(__AVX512F__)
#define STREAM_DOUBLE(to, from) _mm512_stream_pd(to, _mm512_loadu_pd(from))
#define STREAM_FLOAT(to, from) _mm512_stream_ps(to, _mm512_loadu_ps(from))
#define BYTES 64
#elif defined(__AVX__)
#define STREAM_DOUBLE(to, from) _mm256_stream_pd(to, _mm256_loadu_pd(from))
#define STREAM_FLOAT(to, from) _mm256_stream_ps(to, _mm256_loadu_ps(from))
#define BYTES 32
#else
#define STREAM_DOUBLE(to, from) _mm_stream_pd(to, _mm_loadu_pd(from))
#define STREAM_FLOAT(to, from) _mm_stream_ps(to, _mm_loadu_ps(from))
#define BYTES 16
#endif

/* Of a vector register. */
const int vector_bytes = BYTES;

#define REAL double
#define NAME(name) name##_float64
#define LANES (BYTES / 8)
#define STREAM STREAM_DOUBLE
#define EXP exp
#define LOG log
#define POW pow
#define SQRT __builtin_sqrt
#define ABS __builtin_fabs
#define FMA __builtin_fma
#include "kernels.h"
#undef REAL
#undef NAME
#undef LANES
#undef STREAM
#undef EXP
#undef LOG
#undef POW
#undef SQRT
#undef ABS
#undef FMA

#define REAL float
#define NAME(name) name##_float32
#define LANES (BYTES / 4)
#define STREAM STREAM_FLOAT
#define EXP expf
#define LOG logf
#define POW powf
#define SQRT __builtin_sqrtf
#define ABS __builtin_fabsf
#define FMA __builtin_fmaf
#include "kernels.h"

/* Displaces what is in the caches, with all threads. */
void sweep(const double *from, double *to, size_t bytes) {
#pragma omp parallel for simd schedule(static)
    for (size_t n = 0; n < bytes / sizeof(double); n++) to[n] = from[n];
}
