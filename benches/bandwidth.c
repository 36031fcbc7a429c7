/* What the machine can do: memory allocated, filled and copied by the C library, on all cores.
 *
 * Each core has one contiguous part. Blocks that do not fit the caches are also tried with stores past them.
 */
#include <immintrin.h>
#include <omp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* Smaller parts are not worth another core. */
#define PART (32 << 10)
#define HUGE_BLOCK (4 << 20)

#if defined(__AVX512F__)
typedef __m512i vector;
#define LOAD(from) _mm512_loadu_si512(from)
#define STREAM(to, value) _mm512_stream_si512(to, value)
#define REPEAT(value) _mm512_set1_epi64(value)
#elif defined(__AVX__)
typedef __m256i vector;
#define LOAD(from) _mm256_loadu_si256(from)
#define STREAM(to, value) _mm256_stream_si256(to, value)
#define REPEAT(value) _mm256_set1_epi64x(value)
#else
typedef __m128i vector;
#define LOAD(from) _mm_loadu_si128(from)
#define STREAM(to, value) _mm_stream_si128(to, value)
#define REPEAT(value) _mm_set1_epi64x(value)
#endif

static int parts(size_t bytes) {
    size_t most = omp_get_max_threads(), worth = bytes / PART;
    return worth < 1 ? 1 : worth < most ? worth : most;
}

static size_t border(size_t bytes, int part, int count) {
    return part == count ? bytes : bytes / count * part / 64 * 64;
}

static void stream_copy(char *to, const char *from, size_t bytes) {
    size_t head = -(uintptr_t)to % 64;
    head = head < bytes ? head : bytes;
    memcpy(to, from, head);
    size_t done = head;
    for (; done + sizeof(vector) <= bytes; done += sizeof(vector))
        STREAM((vector *)(to + done), LOAD((const vector *)(from + done)));
    memcpy(to + done, from + done, bytes - done);
    _mm_sfence();
}

static void stream_fill(char *to, size_t bytes) {
    size_t head = -(uintptr_t)to % 64;
    head = head < bytes ? head : bytes;
    memset(to, 1, head);
    size_t done = head;
    vector value = REPEAT(0x0101010101010101);
    for (; done + sizeof(vector) <= bytes; done += sizeof(vector))
        STREAM((vector *)(to + done), value);
    memset(to + done, 1, bytes - done);
    _mm_sfence();
}

static void copy_once(char *to, const char *from, size_t bytes, int stream) {
    int count = parts(bytes);
#pragma omp parallel for num_threads(count) schedule(static) if (count > 1)
    for (int part = 0; part < count; part++) {
        size_t begin = border(bytes, part, count), end = border(bytes, part + 1, count);
        if (stream)
            stream_copy(to + begin, from + begin, end - begin);
        else
            memcpy(to + begin, from + begin, end - begin);
    }
}

static void fill_once(char *to, size_t bytes, int stream) {
    int count = parts(bytes);
#pragma omp parallel for num_threads(count) schedule(static) if (count > 1)
    for (int part = 0; part < count; part++) {
        size_t begin = border(bytes, part, count), end = border(bytes, part + 1, count);
        if (stream)
            stream_fill(to + begin, end - begin);
        else
            memset(to + begin, 1, end - begin);
    }
}

static char *allocate(size_t bytes) {
    char *block = malloc(bytes);
    if (block && bytes >= HUGE_BLOCK) {
        size_t skip = -(uintptr_t)block % 4096;
        madvise(block + skip, bytes - skip, MADV_HUGEPAGE);
    }
    return block;
}

/* Keeps the compiler from leaving out what is freed at once. */
static void release(char *block) {
    __asm__ volatile("" : : "r"(block) : "memory");
    free(block);
}

/* Each of these does its work so many times, without and with stores past the caches; blocks are there. */

void copy_bytes(size_t calls, int stream, size_t bytes, char *to, const char *from) {
    while (calls--)
        copy_once(to, from, bytes, stream);
}

void fill_bytes(size_t calls, int stream, size_t bytes, char *to) {
    while (calls--)
        fill_once(to, bytes, stream);
}

/* The same with a new block each time. Should there be none left, the program may end. */

void new_block(size_t calls, int stream, size_t bytes) {
    (void)stream;
    while (calls--)
        release(allocate(bytes));
}

void new_zeros(size_t calls, int stream, size_t bytes) {
    (void)stream;
    while (calls--)
        release(calloc(bytes, 1));
}

void new_filled(size_t calls, int stream, size_t bytes) {
    while (calls--) {
        char *block = allocate(bytes);
        fill_once(block, bytes, stream);
        release(block);
    }
}

void new_copy(size_t calls, int stream, size_t bytes, const char *from) {
    while (calls--) {
        char *block = allocate(bytes);
        copy_once(block, from, bytes, stream);
        release(block);
    }
}
