/* Works up the levels of a block of rows, so that three levels of the block stay in the second-level cache. */
KERNEL(lap7) {
    FIELD(q, 0);
    RESULT(lap, 1);
    const int rows = tuning[0], stream = tuning[1], blocks = (nj + rows - 1) / rows;
#pragma omp parallel
    {
        REAL *line = NAME(scratch)(1, ni);
#pragma omp for collapse(2) schedule(static)
        for (int block = 0; block < blocks; block++)
            for (int k = 1; k < nk - 1; k++) {
                const int end = (block + 1) * rows < nj ? (block + 1) * rows : nj;
                for (int j = block * rows; j < end; j++) {
                    const REAL *restrict a = q + k * sk + j * sj;
                    REAL *out = lap + k * sk + j * sj;
                    REAL *restrict to = stream ? line : out;
#pragma omp simd
                    for (int i = 0; i < ni; i++)
                        to[i] = (REAL)-6 * a[i] + ((a[i - 1] + a[i + 1]) + (a[i - sj] + a[i + sj]) + (a[i - sk] + a[i + sk]));
                    if (stream) NAME(stream_row)(out, line, ni);
                }
            }
        free(line);
        _mm_sfence();
    }
}
