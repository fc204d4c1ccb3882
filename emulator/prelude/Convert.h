// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Host prelude, part 5: narrow floats. The conversions are the ones every part
// of kernelc shares (support/ElementType.h). Templates, so that a text that brings
// its own plain C++ version of one is not redefining it: a non-template wins.
template <class = void> KCE_INLINE unsigned short kc_f32_to_f16(float v) {
  return (unsigned short)kce::call<&kce::Api::convert>()(kce::Convert::F32ToF16, v);
}
template <class = void> KCE_INLINE unsigned short kc_f32_to_bf16(float v) {
  return (unsigned short)kce::call<&kce::Api::convert>()(kce::Convert::F32ToBf16, v);
}
template <class = void> KCE_INLINE unsigned char kc_f32_to_e4m3(float v) {
  return (unsigned char)kce::call<&kce::Api::convert>()(kce::Convert::F32ToE4M3, v);
}
template <class = void> KCE_INLINE unsigned char kc_f32_to_e5m2(float v) {
  return (unsigned char)kce::call<&kce::Api::convert>()(kce::Convert::F32ToE5M2, v);
}
template <class = void> KCE_INLINE unsigned short kc_f64_to_f16(double v) {
  return (unsigned short)kce::call<&kce::Api::convert>()(kce::Convert::F64ToF16, v);
}
template <class = void> KCE_INLINE unsigned short kc_f64_to_bf16(double v) {
  return (unsigned short)kce::call<&kce::Api::convert>()(kce::Convert::F64ToBf16, v);
}
template <class = void> KCE_INLINE unsigned char kc_f64_to_e4m3(double v) {
  return (unsigned char)kce::call<&kce::Api::convert>()(kce::Convert::F64ToE4M3, v);
}
template <class = void> KCE_INLINE unsigned char kc_f64_to_e5m2(double v) {
  return (unsigned char)kce::call<&kce::Api::convert>()(kce::Convert::F64ToE5M2, v);
}
template <class = void> KCE_INLINE float kc_f16_to_f32(unsigned short v) { return kce::call<&kce::Api::widen>()(kce::Widen::F16, v); }
template <class = void> KCE_INLINE float kc_bf16_to_f32(unsigned short v) { return __builtin_bit_cast(float, (unsigned)v << 16); }
template <class = void> KCE_INLINE float kc_e4m3_to_f32(unsigned char v) { return kce::call<&kce::Api::widen>()(kce::Widen::E4M3, v); }
template <class = void> KCE_INLINE float kc_e5m2_to_f32(unsigned char v) { return kce::call<&kce::Api::widen>()(kce::Widen::E5M2, v); }
template <class = void> KCE_INLINE unsigned kc_pack_bf16(float lo, float hi) {
  return kc_f32_to_bf16(lo) | ((unsigned)kc_f32_to_bf16(hi) << 16);
}
template <class = void> KCE_INLINE unsigned kc_pack_f16(float lo, float hi) {
  return kc_f32_to_f16(lo) | ((unsigned)kc_f32_to_f16(hi) << 16);
}
/// To tf32, nearest with ties away from zero, as cvt.rna does.
template <class = void> KCE_INLINE unsigned kc_f32_to_tf32(float v) {
  unsigned b = __builtin_bit_cast(unsigned, v);
  return (b & 0x7f800000u) == 0x7f800000u ? b : (b + 0x1000u) & ~0x1fffu;
}
