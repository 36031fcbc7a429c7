; `a ** b` by repeated squaring; `1 / a ** -b` towards zero where `b` is below zero.
define internal INTEGER @fieldstone_pow_SUFFIX(INTEGER %a, INTEGER %b) #0 {
entry:
  %below = icmp PREDICATE INTEGER %b, 0
  %opposite = sub INTEGER 0, %b
  %exponent.first = select i1 %below, INTEGER %opposite, INTEGER %b
  br label %head
head:
  %exponent = phi INTEGER [ %exponent.first, %entry ], [ %exponent.next, %step ]
  %power = phi INTEGER [ 1, %entry ], [ %power.next, %step ]
  %square = phi INTEGER [ %a, %entry ], [ %square.next, %step ]
  %more = icmp ne INTEGER %exponent, 0
  br i1 %more, label %step, label %done
step:
  %bit = and INTEGER %exponent, 1
  %odd = icmp ne INTEGER %bit, 0
  %multiplied = mul INTEGER %power, %square
  %power.next = select i1 %odd, INTEGER %multiplied, INTEGER %power
  %square.next = mul INTEGER %square, %square
  %exponent.next = lshr INTEGER %exponent, 1
  br label %head
done:
  ; Only one and minus one have a reciprocal.
  %raised = add INTEGER %power, 1
  %unit = icmp ule INTEGER %raised, 2
  %some = icmp ne INTEGER %power, 0
  %kept = and i1 %unit, %some
  %reciprocal = select i1 %kept, INTEGER %power, INTEGER 0
  %result = select i1 %below, INTEGER %reciprocal, INTEGER %power
  ret INTEGER %result
}

