# Two typed operands meet in the smallest type that holds both.
stencil promotion {
  field f4: float32[IJK]
  field f8: float64[IJK]
  field i4: int32[IJK]
  field u2: uint16[IJK]
  field b: bool[IJK]
  scalar n: int64
  parallel {
    interval 0..end {
      f8 = (f4 + i4)
      f4 = (f4 + u2)
      f8 = (i4 / i4)
      f8 = (f4 / u2)
      i4 = (i4 // u2)
      f8 = (b * f4)
      f8 = mod(i4, n)
      f8 = max(f4, i4)
      f8 = sin(i4)
      f4 = sin(f4)
      i4 = floor(i4)
      f4 = abs(floor(f4))
      b = isnan(i4)
      b = max(b, (f4 > i4))
      f8 = select(b, f4, n)
      f8 = float32(f8)
      f8 = float64(f8)
      i4 = int32(2.7)
      f4 = float32(0.1)
      b = f8
    }
  }
}

# Booleans are no numbers, unless they meet one.
stencil boolean_arithmetic {
  field a: bool[IJK]
  field b: bool[IJK]
  field f: float64[IJK]
  parallel {
    interval 0..end {
      f = (a + b)           # error FS0300: `+` has no meaning for booleans
      f = -(a)              # error FS0300: `-` has no meaning for booleans
      f = (a / b)           # error FS0300: `/` has no meaning for booleans
      f = (a << b)          # error FS0300: `<<` has no meaning for booleans
      f = sin(a)            # error FS0300: `sin` has no meaning for booleans
      f = (a * 2)
      a = (a & b)
      a = ~(a)
      a = (a == (a < b))
    }
  }
}

stencil bits {
  field i: int32[IJK]
  field l: int64[IJK]
  field u: uint64[IJK]
  field f: float64[IJK]
  parallel {
    interval 0..end {
      i = (f & i)           # error FS0301: `&` needs integers or booleans
      i = ~(f)              # error FS0301: `~` needs integers or booleans
      i = (i << 2.0)        # error FS0301: `<<` needs integers or booleans
      l = (l | u)           # error FS0301: `|` has operands without a common integer type
      l = (i ^ l)
      i = (i >> 1)
      i = (i ** -1)         # error FS0305: an integer has no negative powers
    }
  }
}

# Numbers have no truth value; literals do.
stencil truth {
  field m: bool[IJK]
  field i: int32[IJK]
  field f: float64[IJK]
  parallel {
    interval 0..end {
      if f {                # error FS0303: a condition must be a boolean
        f = 0.0
      }
      if 1 {
        f = 0
      }
      f = select(i, f, f)   # error FS0303: a condition must be a boolean
      m = not(i)            # error FS0302: `not` needs booleans
      m = (m and f)         # error FS0302: `and` needs booleans
      m = (i or m)          # error FS0302: `or` needs booleans
      m = (m and not((f > 0)))
      m = (m or 0.0)
    }
  }
}
