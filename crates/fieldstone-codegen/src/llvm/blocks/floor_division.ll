; `a // b`.
define internal REAL @fieldstone_floor_div_SUFFIX(REAL %a, REAL %b) #0 {
  %ratio = fdiv REAL %a, %b
  %by.zero = fcmp oeq REAL %b, 0.0
  %remainder = call REAL @fieldstone_fmod_SUFFIX(REAL %a, REAL %b)
  %whole = fsub REAL %a, %remainder
  %first = fdiv REAL %whole, %b
  %less = fsub REAL %first, 1.0
  %b.below = fcmp olt REAL %b, 0.0
  %below = fcmp olt REAL %remainder, 0.0
  %differs = xor i1 %b.below, %below
  %some = fcmp une REAL %remainder, 0.0
  %down = and i1 %some, %differs
  %quotient = select i1 %down, REAL %less, REAL %first
  %is.zero = fcmp oeq REAL %quotient, 0.0
  %zero = call REAL @llvm.copysign.SUFFIX(REAL 0.0, REAL %ratio)
  %floor = call REAL @llvm.floor.SUFFIX(REAL %quotient)
  %above = fsub REAL %quotient, %floor
  %is.next = fcmp ogt REAL %above, 0.5
  %next = fadd REAL %floor, 1.0
  %rounded = select i1 %is.next, REAL %next, REAL %floor
  %signed = select i1 %is.zero, REAL %zero, REAL %rounded
  %result = select i1 %by.zero, REAL %ratio, REAL %signed
  ret REAL %result
}

declare REAL @llvm.copysign.SUFFIX(REAL, REAL)
declare REAL @llvm.floor.SUFFIX(REAL)

