/* Rows of all levels, shared among the threads. */
KERNEL(copy) {
    FIELD(q, 0);
    RESULT(q_new, 1);
    const int stream = tuning[0];
#pragma omp parallel
    {
#pragma omp for collapse(2) schedule(static)
        for (int k = 0; k < nk; k++)
            for (int j = 0; j < nj; j++) {
                const REAL *restrict from = q + k * sk + j * sj;
                REAL *restrict to = q_new + k * sk + j * sj;
                if (stream) NAME(stream_row)(to, from, ni);
                else
                    for (int i = 0; i < ni; i++) to[i] = from[i];
            }
        _mm_sfence();
    }
}
