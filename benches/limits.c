/* The least that stencils and copies have to do, without their arithmetic: what is read in which order, and what is moved.
 *
 * All cores share the work. Vectors are lines of a cache; arrays begin at one.
 */
#include <immintrin.h>
#include <omp.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define LINE 64
#define FIELDS 5

typedef double vector __attribute__((vector_size(LINE), may_alias));
typedef long long lanes __attribute__((vector_size(LINE)));
typedef int short_lanes __attribute__((vector_size(LINE)));

#define AT(address) (*(vector *)(address))
#define INLINE static inline __attribute__((always_inline))

/* A whole solver, and squares, by vectors of each type; all else has doubles. */
enum { MOST_VECTORS = 4, MOST_LEVELS = 96 };

/* Rows of whole stencils, four lines and a page from one to the next. */
enum { MOST_VECTORS_OF_ROW = 68 };

INLINE void stream(char *to, vector value) {
#if defined(__AVX512F__)
    _mm512_stream_pd((double *)to, (__m512d)value);
#else
    for (int part = 0; part < LINE; part += sizeof(__m128d))
        _mm_stream_pd((double *)(to + part), *(__m128d *)((char *)&value + part));
#endif
}

#define REAL float
#define NAME(name) name##_float32
#define LANES 16
#define COUNTED (short_lanes){0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}
#define FIRST_HALVES (short_lanes){0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23}
#define SECOND_HALVES (short_lanes){8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31}
#include "columns.h"
#include "rows.h"
#include "planes.h"
#undef REAL
#undef NAME
#undef LANES
#undef COUNTED
#undef FIRST_HALVES
#undef SECOND_HALVES

#define REAL double
#define NAME(name) name##_float64
#define LANES 8
#define COUNTED (lanes){0, 1, 2, 3, 4, 5, 6, 7}
#define FIRST_HALVES (lanes){0, 8, 1, 9, 2, 10, 3, 11}
#define SECOND_HALVES (lanes){4, 12, 5, 13, 6, 14, 7, 15}
#include "columns.h"
#include "rows.h"
#include "planes.h"

static inline vector sum(char *const *fields, size_t at) {
    return (AT(fields[0] + at) + AT(fields[1] + at)) + (AT(fields[2] + at) + AT(fields[3] + at)) + AT(fields[4] + at);
}

/* Five fields are read, one after the other. */
void read_straight(size_t calls, size_t bytes, char *const *fields) {
    while (calls--)
        for (int field = 0; field < FIELDS; field++)
#pragma omp parallel
        {
            vector found[4] = {{0}};
#pragma omp for schedule(static)
            for (size_t at = 0; at < bytes / (4 * LINE) * (4 * LINE); at += 4 * LINE)
                for (int n = 0; n < 4; n++)
                    found[n] += AT(fields[field] + at + n * LINE);
            /* Somebody might want to know. */
            __asm__ volatile("" : : "r"(found) : "memory");
        }
}

/* So many fields are read together, and another one is stored past the caches. */
void sum_straight(size_t calls, size_t bytes, size_t count, char *const *fields, char *to) {
    while (calls--)
#pragma omp parallel
    {
#pragma omp for schedule(static)
        for (size_t at = 0; at < bytes; at += LINE) {
            vector all = AT(fields[0] + at);
            for (size_t field = 1; field < count; field++)
                all += AT(fields[field] + at);
            stream(to + at, all);
        }
        _mm_sfence();
    }
}

/* Five fields are read together and the first of them is written, from begin to end. */
void update_straight(size_t calls, size_t bytes, char *const *fields) {
    while (calls--)
#pragma omp parallel for schedule(static)
        for (size_t at = 0; at < bytes; at += LINE)
            AT(fields[0] + at) = sum(fields, at);
}

/* The same as a solver along columns goes through them: in blocks of columns, upwards through the levels, and downwards again to write.
 * The lines of a level are asked for so many levels before, if any. */
void update_columns(size_t calls, size_t levels, size_t plane, size_t block, size_t ahead, char *const *fields) {
    while (calls--)
#pragma omp parallel for schedule(static)
        for (size_t first = 0; first < plane; first += block) {
            vector kept[64];
            for (size_t n = 0; n < block / LINE; n++)
                kept[n] = (vector){0};
            for (size_t k = 0; k < levels; k++) {
                const size_t row = k * plane + first, later = row + ahead * plane;
                if (ahead && k + ahead < levels)
                    for (int field = 0; field < FIELDS; field++)
                        for (size_t n = 0; n < block; n += LINE)
                            __builtin_prefetch(fields[field] + later + n, 0, 2);
                for (size_t n = 0; n < block / LINE; n++)
                    kept[n] += sum(fields, row + n * LINE);
            }
            for (size_t k = levels; k--;) {
                const size_t row = k * plane + first;
                for (size_t n = 0; n < block / LINE; n++)
                    AT(fields[0] + row + n * LINE) = kept[n] + AT(fields[0] + row + n * LINE);
            }
        }
}

INLINE void move_square(int transposes, const char *from, size_t from_pitch, char *to, size_t to_pitch) {
    vector square[LANES];
    if (transposes)
        return square_float64((const double *)from, from_pitch / sizeof(double), (double *)to, to_pitch / sizeof(double));
    for (int n = 0; n < LANES; n++)
        square[n] = AT(from + n * from_pitch);
    for (int n = 0; n < LANES; n++)
        AT(to + n * to_pitch) = square[n];
}

INLINE void move_planes(
    int transposes, size_t planes, size_t rows, size_t columns, const char *from, char *to) {
    const size_t from_pitch = columns * sizeof(double), to_pitch = rows * sizeof(double);
#pragma omp parallel for schedule(static)
    for (size_t plane = 0; plane < planes; plane++)
        for (size_t column = 0; column < columns; column += LANES)
            for (size_t row = 0; row < rows; row += LANES) {
                const size_t begin = plane * rows * columns * sizeof(double);
                move_square(transposes, from + begin + row * from_pitch + column * sizeof(double), from_pitch,
                            to + begin + column * to_pitch + row * sizeof(double), to_pitch);
            }
}

/* Planes of doubles whose rows become columns, in squares; or squares that are only moved to where they would have to be. */
void transpose_planes(size_t calls, size_t planes, size_t rows, size_t columns, const char *from, char *to) {
    while (calls--)
        move_planes(1, planes, rows, columns, from, to);
}

void move_squares(size_t calls, size_t planes, size_t rows, size_t columns, const char *from, char *to) {
    while (calls--)
        move_planes(0, planes, rows, columns, from, to);
}

/* Columns of doubles become vectors of levels in scratch memory, and these columns of another field. */
void turn_columns(size_t calls, size_t columns, size_t levels, size_t pitch, const char *from, char *to) {
    while (calls--)
#pragma omp parallel for schedule(static)
        for (size_t column = 0; column < columns; column += LANES) {
            vector ring[LANES];
            for (size_t level = 0; level < levels; level += LANES) {
                const size_t at = column * pitch + level * sizeof(double);
                move_square(1, from + at, pitch, (char *)ring, LINE);
                /* A sweep is between. */
                __asm__ volatile("" : : "r"(ring) : "memory");
                move_square(1, (char *)ring, LINE, to + at, pitch);
            }
        }
}
