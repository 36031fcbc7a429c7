stencil self_assignment {
  field a: float64[IJK]
  parallel {
    interval 0..end {
      a = (a[1, 0, 0] + a)        # error FS0403: `a` is assigned from its own neighbours
      if (a > 0) {
        a = a[0, 0, -1]           # error FS0403: `a` is assigned from its own neighbours
      }
    }
  }
  forward {
    interval 1..end {
      a = a[0, 1, 0]              # error FS0403: `a` is assigned from its own neighbours
      a = (a[0, 0, -1] + a[0, 0, 1])
    }
  }
}

stencil many_points_one_element {
  field a: float64[IJK]
  field plane: float64[IJ]
  field column: float64[K]
  parallel {
    interval 0..end {
      plane = a                   # error FS0404: `plane` has no K axis, so many points assign the same element
    }
  }
  parallel {
    interval 0..1 {
      plane = a
    }
  }
  forward {
    interval 0..end {
      plane = a
      column = a                  # error FS0404: `column` has no I axis, so many points assign the same element
    }
  }
}

# Each level needs the one before on a larger area.
stencil growing {
  field inp: float64[IJK]
  field out: float64[IJK]
  temp x
  forward {
    interval 0..1 {
      x = inp
    }
    interval 1..end {
      x = (x[1, 0, -1] * 0.5)     # error FS0405: `x` is needed from ever more distant columns, one step further with each level
      out = x
    }
  }
}

stencil growing_in_two_steps {
  field inp: float64[IJK]
  field out: float64[IJK]
  temp x
  temp y
  forward {
    interval 0..1 {
      x = inp
    }
    interval 1..end {
      y = x[0, 0, -1]
      x = (y[0, -1, 0] + 1)       # error FS0405: `y` is needed from ever more distant columns, one step further with each level
      out = x
    }
  }
}

stencil overlap {
  field a: float64[IJK]
  parallel {
    interval 0..2 {
      a = 1
    }
    interval end-1..end {
      a = 2
    }
    interval 1..end-1 {           # error FS0402: intervals of one computation overlap
      a = 3
    }
  }
}

stencil too_far {
  field a: float64[IJK]
  field b: float64[IJK]
  parallel {
    interval 0..100000 {          # error FS0407: this interval's bounds are too large
      a = b[2147483647, 0, 0]     # error FS0407: this offset is too large
    }
  }
}
