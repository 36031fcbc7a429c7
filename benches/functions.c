/* Loops over one function each, as vectors of glibc's libmvec where that has one (`functions.py`). */
#include <stddef.h>

#define VECTORS _Pragma("omp declare simd notinbranch") __attribute__((const))
#define EACH_VECTOR(ONE) \
    ONE(exp) ONE(log) ONE(log10) ONE(cbrt) ONE(sin) ONE(cos) ONE(tan) ONE(asin) ONE(acos) ONE(atan) ONE(sinh) ONE(cosh) \
    ONE(tanh) ONE(asinh) ONE(acosh) ONE(atanh) ONE(erf) ONE(erfc)

#define DECLARED(name) VECTORS extern double name(double); VECTORS extern float name##f(float);
EACH_VECTOR(DECLARED)
VECTORS extern double pow(double, double);
VECTORS extern float powf(float, float);
extern double tgamma(double);
extern float tgammaf(float);

#define LOOP(name, type, value) \
    void name(const type *restrict a, const type *restrict b, type *restrict out, size_t count) \
    { \
        _Pragma("omp simd") for (size_t i = 0; i < count; i++) out[i] = value; \
    }
#define BOTH(name) LOOP(name##_float64, double, name(a[i])) LOOP(name##_float32, float, name##f(a[i]))
EACH_VECTOR(BOTH)
LOOP(copy_float64, double, a[i])
LOOP(copy_float32, float, a[i])
LOOP(pow_float64, double, pow(a[i], b[i]))
LOOP(pow_float32, float, powf(a[i], b[i]))
LOOP(gamma_float64, double, tgamma(a[i]))
LOOP(gamma_float32, float, tgammaf(a[i]))
