/* Rows of all levels, shared among the threads; exp, pow and log are those of libmvec. */
KERNEL(satvp) {
    FIELD(t, 0);
    FIELD(p, 1);
    FIELD(q, 2);
    RESULT(entropy, 3);
    const int stream = tuning[0];
#pragma omp parallel
    {
        REAL *line = NAME(scratch)(1, ni);
#pragma omp for collapse(2) schedule(static)
        for (int k = 0; k < nk; k++)
            for (int j = 0; j < nj; j++) {
                const ptrdiff_t row = k * sk + j * sj;
                const REAL *restrict tr = t + row, *restrict pr = p + row, *restrict qr = q + row;
                REAL *restrict to = stream ? line : entropy + row;
#pragma omp simd
                for (int i = 0; i < ni; i++) {
                    const REAL vapour = (REAL)611.21 * EXP((REAL)17.502 * (tr[i] - (REAL)273.16) / (tr[i] - (REAL)32.19));
                    const REAL saturated = (REAL)0.622 * vapour / (pr[i] - (REAL)0.378 * vapour);
                    const REAL theta = tr[i] * POW((REAL)100000 / pr[i], (REAL)0.2857);
                    to[i] = theta * LOG(1 + qr[i] / saturated);
                }
                if (stream) NAME(stream_row)(entropy + row, line, ni);
            }
        free(line);
        _mm_sfence();
    }
}
