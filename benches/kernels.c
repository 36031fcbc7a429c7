/* What an expert writes by hand for the demo's two stencils: fused over rows or columns that fit the cache, vectorised along
 * I, on all cores. Built by benches/native.py with gcc -O3 -march=native -fopenmp.
 */
#include <immintrin.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

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

#define REAL double
#define NAME(name) name##_float64
#define LANES (BYTES / 8)
#define STREAM STREAM_DOUBLE
#include "kernels.h"
#undef REAL
#undef NAME
#undef LANES
#undef STREAM

#define REAL float
#define NAME(name) name##_float32
#define LANES (BYTES / 4)
#define STREAM STREAM_FLOAT
#include "kernels.h"
