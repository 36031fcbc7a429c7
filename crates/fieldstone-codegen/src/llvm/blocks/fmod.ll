; The remainder of `a / b`, exactly, with the sign of `a`.
define internal double @fieldstone_fmod_f64(double %a, double %b) #0 {
entry:
  %a.bits = bitcast double %a to i64
  %b.bits = bitcast double %b to i64
  %a.abs = and i64 %a.bits, 9223372036854775807
  %b.abs = and i64 %b.bits, 9223372036854775807
  %a.finite = icmp ult i64 %a.abs, 9218868437227405312
  %b.number = icmp ule i64 %b.abs, 9218868437227405312
  %b.some = icmp ne i64 %b.abs, 0
  %numbers = and i1 %a.finite, %b.number
  %valid = and i1 %numbers, %b.some
  br i1 %valid, label %compare, label %none
none:
  ret double 0x7FF8000000000000
compare:
  %smaller = icmp ult i64 %a.abs, %b.abs
  br i1 %smaller, label %whole, label %split
whole:
  ret double %a
split:
  ; Each is its digits times two to the power of `power - 1075`.
  %a.exponent = lshr i64 %a.abs, 52
  %b.exponent = lshr i64 %b.abs, 52
  %a.power = call i64 @llvm.umax.i64(i64 %a.exponent, i64 1)
  %b.power = call i64 @llvm.umax.i64(i64 %b.exponent, i64 1)
  %a.normal = icmp ne i64 %a.exponent, 0
  %b.normal = icmp ne i64 %b.exponent, 0
  %a.first = select i1 %a.normal, i64 4503599627370496, i64 0
  %b.first = select i1 %b.normal, i64 4503599627370496, i64 0
  %a.fraction = and i64 %a.abs, 4503599627370495
  %b.fraction = and i64 %b.abs, 4503599627370495
  %a.digits = or i64 %a.fraction, %a.first
  %b.digits = or i64 %b.fraction, %b.first
  %rest.first = urem i64 %a.digits, %b.digits
  %left.first = sub i64 %a.power, %b.power
  br label %head
head:
  %left = phi i64 [ %left.first, %split ], [ %left.next, %step ]
  %rest = phi i64 [ %rest.first, %split ], [ %rest.next, %step ]
  %more = icmp ne i64 %left, 0
  br i1 %more, label %step, label %done
step:
  ; Digits of 53 bits can be shifted that far.
  %by = call i64 @llvm.umin.i64(i64 %left, i64 11)
  %shifted = shl i64 %rest, %by
  %rest.next = urem i64 %shifted, %b.digits
  %left.next = sub i64 %left, %by
  br label %head
done:
  %number = uitofp i64 %rest to double
  %normal = icmp ugt i64 %b.power, 52
  %field = sub i64 %b.power, 52
  %normal.bits = shl i64 %field, 52
  %place = sub i64 %b.power, 1
  %place.inside = and i64 %place, 63
  %small.bits = shl i64 1, %place.inside
  %scale.bits = select i1 %normal, i64 %normal.bits, i64 %small.bits
  %scale = bitcast i64 %scale.bits to double
  %magnitude = fmul double %number, %scale
  %signed = call double @llvm.copysign.f64(double %magnitude, double %a)
  ret double %signed
}

; Of numbers with fewer digits it has no more digits than they have.
define internal float @fieldstone_fmod_f32(float %a, float %b) #0 {
  %a.wide = fpext float %a to double
  %b.wide = fpext float %b to double
  %wide = call double @fieldstone_fmod_f64(double %a.wide, double %b.wide)
  %result = fptrunc double %wide to float
  ret float %result
}

declare i64 @llvm.umax.i64(i64, i64)
declare i64 @llvm.umin.i64(i64, i64)
declare double @llvm.copysign.f64(double, double)

