; `a % b`.
define internal REAL @fieldstone_mod_SUFFIX(REAL %a, REAL %b) #0 {
  %remainder = call REAL @fieldstone_fmod_SUFFIX(REAL %a, REAL %b)
  %by.zero = fcmp oeq REAL %b, 0.0
  %is.zero = fcmp oeq REAL %remainder, 0.0
  %zero = call REAL @llvm.copysign.SUFFIX(REAL 0.0, REAL %b)
  %b.below = fcmp olt REAL %b, 0.0
  %below = fcmp olt REAL %remainder, 0.0
  %differs = xor i1 %b.below, %below
  %raised = fadd REAL %remainder, %b
  %signed = select i1 %differs, REAL %raised, REAL %remainder
  %whole = select i1 %is.zero, REAL %zero, REAL %signed
  %result = select i1 %by.zero, REAL %remainder, REAL %whole
  ret REAL %result
}

declare REAL @llvm.copysign.SUFFIX(REAL, REAL)

