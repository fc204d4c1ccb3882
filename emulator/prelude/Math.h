// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Host prelude, part 3: the CUDA math functions. Results may differ from the
// device's within the error both document; nothing here is fast math.
extern "C" {
#define KCE_M1(fn)                                                                                                                         \
  double fn(double);                                                                                                                       \
  float fn##f(float);
#define KCE_M2(fn)                                                                                                                         \
  double fn(double, double);                                                                                                               \
  float fn##f(float, float);
KCE_M1(exp)
KCE_M1(exp2)
KCE_M1(expm1)
KCE_M1(log)
KCE_M1(log2)
KCE_M1(log10)
KCE_M1(log1p)
KCE_M1(sqrt)
KCE_M1(cbrt)
KCE_M1(sin)
KCE_M1(cos)
KCE_M1(tan)
KCE_M1(asin)
KCE_M1(acos)
KCE_M1(atan)
KCE_M1(sinh)
KCE_M1(cosh)
KCE_M1(tanh)
KCE_M1(asinh)
KCE_M1(acosh)
KCE_M1(atanh)
KCE_M1(erf)
KCE_M1(erfc)
KCE_M1(floor)
KCE_M1(ceil)
KCE_M1(trunc)
KCE_M1(round)
KCE_M1(rint)
KCE_M1(nearbyint)
KCE_M1(fabs)
KCE_M1(lgamma)
KCE_M1(tgamma)
KCE_M1(logb)
KCE_M2(pow)
KCE_M2(fmod)
KCE_M2(atan2)
KCE_M2(copysign)
KCE_M2(fmax)
KCE_M2(fmin)
KCE_M2(hypot)
KCE_M2(fdim)
KCE_M2(remainder)
KCE_M2(nextafter)
double fma(double, double, double);
float fmaf(float, float, float);
double exp10(double);
float exp10f(float);
double ldexp(double, int);
float ldexpf(float, int);
int abs(int) noexcept;
long labs(long) noexcept;
long long llabs(long long) noexcept;
long lrintf(float);
long lrint(double);
long long llrintf(float);
long long llrint(double);
}
#undef KCE_M1
#undef KCE_M2
#define KCE_F1(fn)                                                                                                                         \
  KCE_INLINE float fn(float x) { return fn##f(x); }
#define KCE_F2(fn)                                                                                                                         \
  KCE_INLINE float fn(float x, float y) { return fn##f(x, y); }
KCE_F1(exp)
KCE_F1(exp2)
KCE_F1(expm1)
KCE_F1(log)
KCE_F1(log2)
KCE_F1(log10)
KCE_F1(log1p)
KCE_F1(sqrt)
KCE_F1(cbrt)
KCE_F1(sin)
KCE_F1(cos)
KCE_F1(tan)
KCE_F1(tanh)
KCE_F1(erf)
KCE_F1(erfc)
KCE_F1(floor)
KCE_F1(ceil)
KCE_F1(trunc)
KCE_F1(round)
KCE_F1(rint)
KCE_F1(fabs)
KCE_F2(pow)
KCE_F2(fmod)
KCE_F2(atan2)
KCE_F2(copysign)
KCE_F2(fmax)
KCE_F2(fmin)
#undef KCE_F1
#undef KCE_F2
KCE_INLINE float fma(float a, float b, float c) { return fmaf(a, b, c); }
KCE_INLINE float rsqrtf(float x) { return (float)(1.0 / sqrt((double)x)); }
KCE_INLINE double rsqrt(double x) { return 1.0 / sqrt(x); }
KCE_INLINE float rsqrt(float x) { return rsqrtf(x); }
KCE_INLINE long long abs(long long x) { return x < 0 ? -x : x; }
KCE_INLINE long abs(long x) { return x < 0 ? -x : x; }
KCE_INLINE float abs(float x) { return fabsf(x); }
KCE_INLINE double abs(double x) { return fabs(x); }
KCE_INLINE float normcdff(float x) { return (float)(0.5 * erfc(-(double)x * 0.70710678118654752440)); }
KCE_INLINE float fdividef(float a, float b) { return a / b; }
KCE_INLINE float __fdividef(float a, float b) { return a / b; }
KCE_INLINE float __expf(float x) { return expf(x); }
KCE_INLINE float __exp10f(float x) { return exp10f(x); }
KCE_INLINE float __logf(float x) { return logf(x); }
KCE_INLINE float __log2f(float x) { return log2f(x); }
KCE_INLINE float __sinf(float x) { return sinf(x); }
KCE_INLINE float __cosf(float x) { return cosf(x); }
KCE_INLINE float __tanhf(float x) { return tanhf(x); }
KCE_INLINE float __powf(float x, float y) { return powf(x, y); }
KCE_INLINE float __frcp_rn(float x) { return 1.0f / x; }
KCE_INLINE float __fsqrt_rn(float x) { return sqrtf(x); }
KCE_INLINE float __frsqrt_rn(float x) { return rsqrtf(x); }
KCE_INLINE float __fadd_rn(float a, float b) { return a + b; }
KCE_INLINE float __fsub_rn(float a, float b) { return a - b; }
KCE_INLINE float __fmul_rn(float a, float b) { return a * b; }
KCE_INLINE float __fdiv_rn(float a, float b) { return a / b; }
KCE_INLINE float __fmaf_rn(float a, float b, float c) { return fmaf(a, b, c); }
KCE_INLINE double __dadd_rn(double a, double b) { return a + b; }
KCE_INLINE double __dmul_rn(double a, double b) { return a * b; }
KCE_INLINE double __fma_rn(double a, double b, double c) { return fma(a, b, c); }
KCE_INLINE float __saturatef(float x) { return x > 0 ? (x < 1 ? x : 1.0f) : 0.0f; }

#define isnan(x) __builtin_isnan(x)
#define isinf(x) __builtin_isinf(x)
#define isfinite(x) __builtin_isfinite(x)
#define signbit(x) __builtin_signbit(x)
#define INFINITY __builtin_inff()
#define NAN __builtin_nanf("")
#define CUDART_INF_F __builtin_inff()

#define KCE_MINMAX(T)                                                                                                                      \
  KCE_INLINE T min(T a, T b) { return b < a ? b : a; }                                                                                     \
  KCE_INLINE T max(T a, T b) { return a < b ? b : a; }
KCE_MINMAX(int)
KCE_MINMAX(unsigned)
KCE_MINMAX(long)
KCE_MINMAX(unsigned long)
KCE_MINMAX(long long)
KCE_MINMAX(unsigned long long)
#undef KCE_MINMAX
KCE_INLINE float min(float a, float b) { return fminf(a, b); }
KCE_INLINE float max(float a, float b) { return fmaxf(a, b); }
KCE_INLINE double min(double a, double b) { return fmin(a, b); }
KCE_INLINE double max(double a, double b) { return fmax(a, b); }

#define KCE_BITS(name, To, From)                                                                                                           \
  KCE_INLINE To name(From x) { return __builtin_bit_cast(To, x); }
KCE_BITS(__float_as_int, int, float)
KCE_BITS(__float_as_uint, unsigned, float)
KCE_BITS(__int_as_float, float, int)
KCE_BITS(__uint_as_float, float, unsigned)
KCE_BITS(__double_as_longlong, long long, double)
KCE_BITS(__longlong_as_double, double, long long)
#undef KCE_BITS

// Conversions clamp, as the device's do; NaN gives 0.
namespace kce {
template <class To, class From> KCE_INLINE To clamped(From x) {
  constexpr To low = (To)-1 < (To)0 ? (To)((To)1 << (sizeof(To) * 8 - 1)) : (To)0;
  constexpr To high = (To)~low;
  if (!(x == x))
    return 0;
  if (x <= (From)low)
    return low;
  if (x >= (From)high)
    return high;
  return (To)x;
}
} // namespace kce
KCE_INLINE int __float2int_rz(float x) { return kce::clamped<int>(truncf(x)); }
KCE_INLINE int __float2int_rn(float x) { return kce::clamped<int>(rintf(x)); }
KCE_INLINE int __float2int_rd(float x) { return kce::clamped<int>(floorf(x)); }
KCE_INLINE int __float2int_ru(float x) { return kce::clamped<int>(ceilf(x)); }
KCE_INLINE unsigned __float2uint_rz(float x) { return kce::clamped<unsigned>(truncf(x)); }
KCE_INLINE unsigned __float2uint_rn(float x) { return kce::clamped<unsigned>(rintf(x)); }
KCE_INLINE long long __float2ll_rz(float x) { return kce::clamped<long long>(truncf(x)); }
KCE_INLINE long long __float2ll_rn(float x) { return kce::clamped<long long>(rintf(x)); }
KCE_INLINE int __double2int_rz(double x) { return kce::clamped<int>(trunc(x)); }
KCE_INLINE int __double2int_rn(double x) { return kce::clamped<int>(rint(x)); }
KCE_INLINE long long __double2ll_rz(double x) { return kce::clamped<long long>(trunc(x)); }
KCE_INLINE long long __double2ll_rn(double x) { return kce::clamped<long long>(rint(x)); }
KCE_INLINE float __int2float_rn(int x) { return (float)x; }
KCE_INLINE float __uint2float_rn(unsigned x) { return (float)x; }
KCE_INLINE float __ll2float_rn(long long x) { return (float)x; }
KCE_INLINE float __double2float_rn(double x) { return (float)x; }
KCE_INLINE float __double2float_rz(double x) {
  float r = (float)x;
  return fabs((double)r) > fabs(x) && r != 0 ? __builtin_bit_cast(float, __builtin_bit_cast(unsigned, r) - 1) : r;
}
KCE_INLINE double __int2double_rn(int x) { return x; }
KCE_INLINE double __ll2double_rn(long long x) { return (double)x; }

KCE_INLINE int __popc(unsigned x) { return __builtin_popcount(x); }
KCE_INLINE int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
KCE_INLINE int __clz(int x) { return x ? __builtin_clz(x) : 32; }
KCE_INLINE int __clzll(long long x) { return x ? __builtin_clzll(x) : 64; }
KCE_INLINE int __ffs(int x) { return __builtin_ffs(x); }
KCE_INLINE int __ffsll(long long x) { return __builtin_ffsll(x); }
KCE_INLINE unsigned __brev(unsigned x) { return __builtin_bitreverse32(x); }
KCE_INLINE int __mulhi(int a, int b) { return (int)(((long long)a * b) >> 32); }
KCE_INLINE unsigned __umulhi(unsigned a, unsigned b) { return (unsigned)(((unsigned long long)a * b) >> 32); }
KCE_INLINE long long __mul64hi(long long a, long long b) { return (long long)(((__int128)a * b) >> 64); }
KCE_INLINE unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
  return (unsigned long long)(((unsigned __int128)a * b) >> 64);
}
KCE_INLINE unsigned __byte_perm(unsigned a, unsigned b, unsigned s) {
  unsigned long long both = ((unsigned long long)b << 32) | a;
  unsigned r = 0;
  for (int i = 0; i < 4; i++) {
    unsigned sel = (s >> (4 * i)) & 15, byte = (unsigned)(both >> (8 * (sel & 7))) & 255;
    if (sel & 8)
      byte = byte & 128 ? 255 : 0;
    r |= byte << (8 * i);
  }
  return r;
}
KCE_INLINE unsigned __funnelshift_l(unsigned lo, unsigned hi, unsigned s) {
  return (unsigned)(((((unsigned long long)hi << 32) | lo) << (s & 31)) >> 32);
}
KCE_INLINE unsigned __funnelshift_r(unsigned lo, unsigned hi, unsigned s) {
  return (unsigned)((((unsigned long long)hi << 32) | lo) >> (s & 31));
}
