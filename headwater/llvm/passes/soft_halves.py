"""What LLVM calls to convert halves on x86 processors without F16C, and doubles to halves without AVX512-FP16.

It is LLVM IR text. Elsewhere these functions come with a compiler's run-time library; kernels are linked without one.
They round to nearest even (IEEE 754-2008, 4.3.1), as ``fptrunc`` does. A half's exponent is 112 less than a float's,
and its mantissa 13 bits shorter; what is below 2^-14 is a multiple of 2^-24.
"""

from __future__ import annotations

SOFT_HALVES = """
define weak hidden float @__extendhfsf2(half %x) nounwind {
  %bits = bitcast half %x to i16
  %word = zext i16 %bits to i32
  %high = and i32 %word, 32768
  %sign = shl i32 %high, 16
  %size = and i32 %word, 32767
  %up = shl i32 %size, 13
  %normal = add i32 %up, 939524096                      ; 112 << 23
  %count = sitofp i32 %size to double
  %units = fmul double %count, 0x3E70000000000000       ; 2^-24
  %exact = fptrunc double %units to float
  %small = bitcast float %exact to i32
  %infinite = or i32 %up, 2139095040                    ; an infinity, or a NaN,
  %nan = icmp ugt i32 %size, 31744
  %quiet = select i1 %nan, i32 4194304, i32 0           ; which becomes a quiet one
  %special = or i32 %infinite, %quiet
  %is.small = icmp ult i32 %size, 1024
  %finite = select i1 %is.small, i32 %small, i32 %normal
  %is.special = icmp uge i32 %size, 31744
  %all = select i1 %is.special, i32 %special, i32 %finite
  %signed = or i32 %all, %sign
  %result = bitcast i32 %signed to float
  ret float %result
}

define weak hidden half @__truncsfhf2(float %x) nounwind {
  %word = bitcast float %x to i32
  %high = lshr i32 %word, 16
  %sign = and i32 %high, 32768
  %size = and i32 %word, 2147483647
  %lowest = lshr i32 %size, 13
  %odd = and i32 %lowest, 1
  %half.unit = add i32 %size, 4095
  %rounded = add i32 %half.unit, %odd
  %rebased = sub i32 %rounded, 939524096                ; 112 << 23
  %normal = lshr i32 %rebased, 13
  %positive = bitcast i32 %size to float
  %sum = fadd float %positive, 0.5                      ; its last bit is worth 2^-24
  %sum.word = bitcast float %sum to i32
  %small = sub i32 %sum.word, 1056964608                ; 0.5
  %payload = and i32 %lowest, 1023
  %nan = or i32 %payload, 32256
  %is.small = icmp ult i32 %size, 947912704             ; 2^-14
  %is.large = icmp uge i32 %size, 1199570944            ; 2^16
  %is.nan = icmp ugt i32 %size, 2139095040
  %finite = select i1 %is.small, i32 %small, i32 %normal
  %number = select i1 %is.large, i32 31744, i32 %finite
  %all = select i1 %is.nan, i32 %nan, i32 %number
  %signed = or i32 %all, %sign
  %bits = trunc i32 %signed to i16
  %result = bitcast i16 %bits to half
  ret half %result
}
"""

HALVES_OF_DOUBLES = """
define weak hidden half @__truncdfhf2(double %x) nounwind {
  ; Rounded to odd first, which keeps what the second rounding must know.
  %near = fptrunc double %x to float
  %back = fpext float %near to double
  %inexact = fcmp one double %back, %x
  %size = call double @llvm.fabs.f64(double %x)
  %back.size = call double @llvm.fabs.f64(double %back)
  %outward = fcmp ogt double %back.size, %size
  %less = sext i1 %outward to i32
  %word = bitcast float %near to i32
  %inward = add i32 %word, %less
  %last = zext i1 %inexact to i32
  %odd = or i32 %inward, %last
  %float = bitcast i32 %odd to float
  %result = fptrunc float %float to half
  ret half %result
}
"""
