# A literal takes the type of what it meets.
stencil weak_literals {
  field f: float32[IJK]
  field i: int16[IJK]
  field m: bool[IJK]
  parallel {
    interval 0..end {
      f = ((2 * f) + 0.5)
      i = (i * 3)
      f = (i * 0.5)
      f = (m + 1)
      f = (m * 0.1)
    }
  }
}

# Expressions of literals are computed as Python does, and then take the type of what they meet.
stencil expressions_of_literals {
  field f: float32[IJK]
  field i: int16[IJK]
  parallel {
    interval 0..end {
      f = (f * (1 / 3))
      f = (f * (1.0 / 3.0))
      i = (i + (7 // 2))
      i = (2 ** -1)
      f = sqrt(2)
      f = -(1)
      f = -(-(0.0))
      f = select((1 < 2), 1, 2.0)
    }
  }
}

# An integer exponent stays one.
stencil powers {
  field f: float32[IJK]
  field i: int16[IJK]
  parallel {
    interval 0..end {
      f = (f ** 2)
      f = (f ** -2)
      f = (f ** -(2))
      f = pow(f, 3)
      f = (f ** 2.0)
      i = (i ** 2)
      f = (f ** i)
    }
  }
}

# Python's numbers fit or they do not.
stencil out_of_range {
  field u: uint8[IJK]
  field s: int8[IJK]
  field w: uint64[IJK]
  field m: bool[IJK]
  parallel {
    interval 0..end {
      u = 255
      u = 256               # error FS0304: 256 does not fit uint8
      u = (u + -(1))        # error FS0304: -1 does not fit uint8
      s = -(128)
      s = (s * 200)         # error FS0304: 200 does not fit int8
      u = uint8(300)
      u = (200 * 2)
      m = (u < 300)
      m = (-5 < u)
      m = (w > -1)          # error FS0304: -1 does not fit uint64
    }
  }
}
