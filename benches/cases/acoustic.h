/* Eight loops over all rows, one after another; a thread has the same rows in each, so that what it has just written is near.
 * Results may be stored past the caches: those
 * that no later loop reads, or all. */
#define ALL_ROWS(...)                                                                                                   \
    _Pragma("omp for collapse(2) schedule(static)") for (int k = 0; k < nk; k++) for (int j = 0; j < nj; j++) {          \
        const ptrdiff_t row = k * sk + j * sj;                                                                           \
        __VA_ARGS__                                                                                                      \
    }
#define READ(name) const REAL *restrict name##_ = name + row;
#define WRITE(name) REAL *restrict name##_ = name + row;
#define WRITE_PAST(name, level) REAL *restrict name##_ = stream >= level ? line : name + row;
#define STORED(name, level) if (stream >= level) NAME(stream_row)(name + row, line, ni);
#define LAST 1
#define READ_LATER 2
#define ALL_POINTS _Pragma("omp simd") for (int i = 0; i < ni; i++)

KERNEL(acoustic) {
    FIELD(u, 0);
    FIELD(v, 1);
    FIELD(w, 2);
    FIELD(p, 3);
    FIELD(theta, 4);
    FIELD(theta_mean, 5);
    FIELD(damping, 6);
    RESULT(div, 7);
    RESULT(lift, 8);
    RESULT(p_new, 9);
    RESULT(u_new, 10);
    RESULT(v_new, 11);
    RESULT(w_new, 12);
    RESULT(theta_new, 13);
    const REAL dt = scalars[0];
    const int stream = tuning[0];
#pragma omp parallel
    {
        REAL *line = NAME(scratch)(1, ni);
        ALL_ROWS(
            READ(u) READ(v) READ(w) WRITE_PAST(div, READ_LATER)
            if (k < nk - 1)
                ALL_POINTS div_[i] = (REAL)0.1 * (u_[i + 1] - u_[i]) + (REAL)0.2 * (v_[i + sj] - v_[i]) + (REAL)0.5 * (w_[i + sk] - w_[i]);
            else
                ALL_POINTS div_[i] = (REAL)0.1 * (u_[i + 1] - u_[i]) + (REAL)0.2 * (v_[i + sj] - v_[i]) - (REAL)0.5 * w_[i];
            STORED(div, READ_LATER)
        )
        const REAL stiff = dt * (REAL)1.4;
        ALL_ROWS(READ(p) READ(div) WRITE_PAST(p_new, READ_LATER) ALL_POINTS p_new_[i] = p_[i] - stiff * p_[i] * div_[i];
            STORED(p_new, READ_LATER))
        ALL_ROWS(
            READ(theta) WRITE_PAST(lift, READ_LATER) const REAL mean = theta_mean[k], gravity = (REAL)9.81 / mean;
            ALL_POINTS lift_[i] = gravity * (theta_[i] - mean);
            STORED(lift, READ_LATER)
        )
        const REAL dt_i = dt * (REAL)0.1, dt_j = dt * (REAL)0.2, dt_k = dt * (REAL)0.5;
        ALL_ROWS(
            READ(u) READ(p_new) WRITE_PAST(u_new, LAST) ALL_POINTS u_new_[i] = u_[i] - dt_i * (p_new_[i] - p_new_[i - 1]);
            STORED(u_new, LAST)
        )
        ALL_ROWS(
            READ(v) READ(p_new) WRITE_PAST(v_new, LAST) ALL_POINTS v_new_[i] = v_[i] - dt_j * (p_new_[i] - p_new_[i - sj]);
            STORED(v_new, LAST)
        )
        ALL_ROWS(
            READ(w) READ(p_new) READ(lift) WRITE_PAST(w_new, READ_LATER)
            if (k > 0)
                ALL_POINTS w_new_[i] = w_[i] - dt_k * ((p_new_[i] - p_new_[i - sk]) - (lift_[i] + lift_[i - sk]));
            else memset(w_new_, 0, ni * sizeof(REAL));
            STORED(w_new, READ_LATER)
        )
        const REAL quarter = (REAL)0.25 * dt;
        ALL_ROWS(
            READ(theta) READ(w_new) WRITE_PAST(theta_new, LAST)
            if (k > 0 && k < nk - 1)
                ALL_POINTS theta_new_[i] = theta_[i] - quarter * w_new_[i] * (theta_[i + sk] - theta_[i - sk]);
            else memcpy(theta_new_, theta_, ni * sizeof(REAL));
            STORED(theta_new, LAST)
        )
        _mm_sfence();
#pragma omp for collapse(2) schedule(static)
        for (int k = nk - 4; k < nk; k++)
            for (int j = 0; j < nj; j++) {
                const ptrdiff_t row = k * sk + j * sj;
                WRITE(u_new) WRITE(v_new)
                ALL_POINTS u_new_[i] *= damping[k];
                ALL_POINTS v_new_[i] *= damping[k];
            }
        free(line);
    }
}
#undef ALL_ROWS
#undef READ
#undef WRITE
#undef WRITE_PAST
#undef STORED
#undef LAST
#undef READ_LATER
#undef ALL_POINTS
