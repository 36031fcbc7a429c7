# Written in both branches: sure. Written in one: not.
stencil sure {
  field out: float64[IJK]
  temp both
  temp one
  temp inside
  parallel {
    interval 0..end {
      if (out > 0) {
        both = 1.0
        one = out
        inside = (one * 2)
        out = inside
      } else {
        both = 2.0
      }
      out = (both + one) # warning FS0423: `one` may be read where it was not assigned
    }
  }
}

# A branch that reads neighbours the same `if` assigns is split.
stencil neighbours {
  field inp: float64[IJK]
  field out: float64[IJK]
  temp t
  parallel {
    interval 0..end {
      if (inp[0, 0, 0] > 0) {
        t = inp
        out = (t * 2)
        out = (out + t[1, 0, 0]) # warning FS0423: `t` may be read where it was not assigned
        if (t > 1) {
          t = (out[-1, 0, 0] + 1)
        }
      } else {
        t = 0.0
        out = t
      }
    }
  }
}

# Levels before are complete in a vertical loop.
stencil levels_before {
  field inp: float64[IJK]
  field out: float64[IJK]
  forward {
    interval 1..end {
      if (out[0, 0, -1] > 0) {
        out = (out[0, 0, -1] + inp)
      }
    }
  }
}

# A field is not assigned where only a temporary of the same `if` is needed.
stencil uneven {
  field inp: float64[IJK]
  field out: float64[IJK]
  field other: float64[IJK]
  temp t
  parallel {
    interval 0..end {
      t = 0.0
      if (inp > 0) {
        t = inp
        out = (t * 2)
      }
      other = t[1, 0, 0]
    }
  }
}
