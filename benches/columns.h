/* Implicit vertical diffusion as `cases/vdiff.h` has it, written with vectors in registers for arrays that are contiguous along I and for such
 * that are contiguous along K; included once per type, with REAL, LANES and what depends on it defined.
 *
 * A block is a few vectors of neighbouring columns. What is kept of all levels of it is two rows of vectors for each.
 */

typedef REAL NAME(vector) __attribute__((vector_size(LINE), may_alias));
#define VECTOR NAME(vector)
#define VECTORS(address) ((VECTOR *)(address))

/* What does not change, and what one level of a column leaves to the next. */
typedef struct {
    const REAL *height, *sigma;
    REAL strength;
    size_t levels;
} NAME(profile);

typedef struct {
    VECTOR ground, gap, conductance, ratio, partial;
} NAME(state);

INLINE VECTOR NAME(gap)(const NAME(profile) *all, size_t k, VECTOR ground) {
    return (all->height[k + 1] - all->height[k]) + (all->sigma[k + 1] - all->sigma[k]) * ground;
}

INLINE void NAME(begin)(const NAME(profile) *all, NAME(state) *states, int count, const REAL *ground) {
    for (int n = 0; n < count; n++) {
        const VECTOR here = VECTORS(ground)[n], none = {0};
        states[n] = (NAME(state)){here, NAME(gap)(all, 0, here), none, none, none};
    }
}

/* Level k of a block, going up. */
INLINE void NAME(up)(const NAME(profile) *all, NAME(state) *states, int count, size_t k, const VECTOR *phi, VECTOR *kept) {
    const int last = k == all->levels - 1;
    for (int n = 0; n < count; n++) {
        NAME(state) *const s = states + n;
        VECTOR gap = s->gap, up = {0};
        if (!last) {
            gap = NAME(gap)(all, k, s->ground);
            up = all->strength / gap;
        }
        const VECTOR layer = (REAL)0.5 * (gap + s->gap);
        const VECTOR inverse = 1 / (layer + up + s->conductance * (1 - s->ratio));
        s->partial = (layer * phi[n] + s->conductance * s->partial) * inverse;
        s->ratio = up * inverse;
        s->gap = gap;
        s->conductance = up;
        kept[2 * count * k + n] = s->ratio;
        kept[2 * count * k + count + n] = s->partial;
    }
}

/* Level k of a block, going down; the ratio of the highest one is zero. */
INLINE void NAME(down)(NAME(state) *states, int count, size_t k, const VECTOR *kept, VECTOR *phi) {
    for (int n = 0; n < count; n++)
        phi[n] = states[n].partial = kept[2 * count * k + count + n] + kept[2 * count * k + n] * states[n].partial;
}

/* As many columns as a vector has lanes, as many levels of each, to vectors of levels, or back. */
INLINE void NAME(square)(const REAL *from, size_t from_pitch, REAL *to, size_t to_pitch) {
    VECTOR rows[LANES], mixed[LANES];
    for (int n = 0; n < LANES; n++)
        rows[n] = *VECTORS(from + n * from_pitch);
    for (int round = 1; round < LANES; round *= 2) {
        for (int n = 0; n < LANES / 2; n++) {
            mixed[2 * n] = __builtin_shuffle(rows[n], rows[n + LANES / 2], FIRST_HALVES);
            mixed[2 * n + 1] = __builtin_shuffle(rows[n], rows[n + LANES / 2], SECOND_HALVES);
        }
        for (int n = 0; n < LANES; n++)
            rows[n] = mixed[n];
    }
    for (int n = 0; n < LANES; n++)
        *VECTORS(to + n * to_pitch) = rows[n];
}

INLINE void NAME(along_rows)(const NAME(profile) *all, int count, size_t plane, const REAL *phi, const REAL *ground, REAL *phi_new) {
    VECTOR kept[2 * MOST_VECTORS * MOST_LEVELS];
    NAME(state) states[MOST_VECTORS];
    NAME(begin)(all, states, count, ground);
    for (size_t k = 0; k < all->levels; k++)
        NAME(up)(all, states, count, k, VECTORS(phi + k * plane), kept);
    for (size_t k = all->levels; k--;)
        NAME(down)(states, count, k, kept, VECTORS(phi_new + k * plane));
}

/* Columns have room for whole vectors. Squares are turned before the levels of a group, or between those of the group before; meanwhile
 * the columns of the next block are fetched. */
INLINE void NAME(along_columns)(const NAME(profile) *all, int count, int between, size_t pitch, const REAL *phi, const REAL *ground,
                                REAL *phi_new, ptrdiff_t next) {
    VECTOR kept[2 * MOST_VECTORS * MOST_LEVELS], ring[2][LANES * MOST_VECTORS];
    NAME(state) states[MOST_VECTORS];
    const size_t row = count * LANES;
    NAME(begin)(all, states, count, ground);
    if (between)
        for (int n = 0; n < count; n++)
            NAME(square)(phi + n * LANES * pitch, pitch, (REAL *)ring[0] + n * LANES, row);
    for (size_t group = 0; group < all->levels; group += LANES) {
        VECTOR *const here = between ? ring[group / LANES % 2] : ring[0], *const later = ring[(group / LANES + 1) % 2];
        const size_t following = group + LANES < all->levels ? group + LANES : group;
        if (!between)
            for (int n = 0; n < count; n++)
                NAME(square)(phi + n * LANES * pitch + group, pitch, (REAL *)here + n * LANES, row);
#pragma GCC unroll 4
        for (int l = 0; l < LANES; l++) {
            if (group + l < all->levels)
                NAME(up)(all, states, count, group + l, here + l * count, kept);
            const int every = LANES / count, n = l / every;
            if (between && l % every == 0)
                NAME(square)(phi + n * LANES * pitch + following, pitch, (REAL *)later + n * LANES, row);
            for (int column = l * count; column < (l + 1) * count; column++) {
                __builtin_prefetch(phi + next + column * pitch + group, 0, 2);
                __builtin_prefetch(phi_new + next + column * pitch + group, 1, 2);
            }
        }
    }
    for (size_t group = (all->levels - 1) / LANES * LANES; group < all->levels; group -= LANES) {
        for (int l = LANES; l--;)
            if (group + l < all->levels)
                NAME(down)(states, count, group + l, kept, ring[0] + l * count);
        for (int n = 0; n < count; n++)
            NAME(square)((REAL *)ring[0] + n * LANES, row, phi_new + n * LANES * pitch + group, pitch);
    }
}

/* All rows of a domain whose blocks are whole. `pitch` is what there is between levels along I, and between columns along K. */
void NAME(diffuse)(size_t calls, size_t way, size_t count, size_t ni, size_t nj, size_t nk, size_t pitch, const REAL *height,
                   const REAL *sigma, const REAL *ground, const REAL *phi, REAL *phi_new) {
    /* 30 s, and 5 m2/s. */
    const NAME(profile) all = {height, sigma, 30 * 5, nk};
    const size_t width = count * LANES, blocks = ni / width, step = way ? pitch : 1;
    while (calls--)
#pragma omp parallel for schedule(static)
        for (size_t task = 0; task < nj * blocks; task++) {
            const size_t first = task * width;
            const REAL *const from = phi + first * step;
            REAL *const to = phi_new + first * step;
            const ptrdiff_t next = task + 1 < nj * blocks ? (ptrdiff_t)(width * step) : 0;
#define WITH(count)                                                                                                                    \
    way == 0   ? NAME(along_rows)(&all, count, pitch, from, ground + first, to)                                                        \
    : way == 1 ? NAME(along_columns)(&all, count, 0, pitch, from, ground + first, to, next)                                            \
               : NAME(along_columns)(&all, count, 1, pitch, from, ground + first, to, next)
            if (count == 2)
                WITH(2);
            else
                WITH(4);
#undef WITH
        }
}

#undef VECTOR
#undef VECTORS
