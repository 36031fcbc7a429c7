# A temporary has the type that all values assigned to it have in common.
stencil joined {
  field f4: float32[IJK]
  field i2: int16[IJK]
  field b: bool[IJK]
  temp first
  temp second
  temp third
  temp fourth
  temp annotated: float64
  parallel {
    interval 0..end {
      first = 0.0
      second = i2
      third = first
      fourth = (f4 > 0)
      annotated = f4
      first = f4
      if b {
        second = f4
      } else {
        second = 1
      }
      f4 = (((first + second) + third) * fourth)
    }
  }
}

# Literals alone give float64 and int64, which everything that reads them has to know.
stencil of_literals {
  field f4: float32[IJK]
  temp real
  temp whole
  temp product
  parallel {
    interval 0..end {
      real = 0.5
      whole = 2
      product = (f4 * real)
      f4 = (product + whole)
    }
  }
}

# Carried values: the type of one depends on the other and on itself.
stencil carried {
  field f4: float32[IJK]
  temp a
  temp b
  forward {
    interval 0..1 {
      a = 0
      b = f4
    }
    interval 1..end {
      a = (b[0, 0, -1] * 2)
      b = (a + b[0, 0, -1])
      f4 = b
    }
  }
}

# Nothing gives it a type.
stencil unknown {
  field f: float64[IJK]
  temp a
  temp b
  parallel {
    interval 0..end {
      a = b                 # error FS0306: the type of `a` cannot be found
      b = a                 # error FS0306: the type of `b` cannot be found
      f = a
    }
  }
}

# One error is reported once.
stencil wrong_value {
  field f: float64[IJK]
  temp a
  parallel {
    interval 0..end {
      a = (f & 1)           # error FS0301: `&` needs integers or booleans
      f = a
    }
  }
}
