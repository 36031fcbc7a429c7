# What is reached along K is counted from the ends of the domain.
stencil reach {
  field all: float64[IJK]
  field below: float64[IJK]
  field inside: float64[IJK]
  field shorter: float64[IJK]
  field first: float64[IJK]
  field upper: float64[IJK]
  field out: float64[IJK]
  parallel {
    interval 0..1 {
      out = (below[0, 0, -1] + first)
    }
    interval 1..end-1 {
      out = (((all + inside[0, 0, -1]) + inside[0, 0, 1]) + upper)
    }
    interval end-1..end {
      out = (all + shorter[0, 0, -1])
    }
  }
}

# A domain must have room for every interval, and for what is read from the opposite end.
stencil min_levels {
  field a: float64[IJK]
  field b: float64[IJK]
  parallel {
    interval 0..3 {
      a = b
    }
    interval end-2..end {
      a = b[0, 0, -4]
    }
  }
}

stencil unwritten_levels {
  field out: float64[IJK]
  temp t
  parallel {
    interval 1..end {
      t = out
    }
  }
  parallel {
    interval 0..end {
      out = t                     # error FS0401: `t` is read at a level at which it is not assigned
    }
  }
}

stencil beyond_the_last_level {
  field out: float64[IJK]
  temp t
  parallel {
    interval 0..end {
      t = out
      out = t[0, 0, 1]            # error FS0401: `t` is read at a level at which it is not assigned
    }
  }
}

stencil not_written_yet {
  field out: float64[IJK]
  temp t: float64
  forward {
    interval 0..end-1 {
      out = t[0, 0, 1]            # error FS0400: `t` is read before it is assigned
      t = out
    }
  }
}

# Below, the level before was written by a later statement of the computation.
stencil written_by_then {
  field out: float64[IJK]
  temp t
  forward {
    interval 0..1 {
      t = out
    }
    interval 1..end {
      out = t[0, 0, -1]
      t = (out * 2)
    }
  }
}

stencil intervals_as_a_patchwork {
  field out: float64[IJK]
  temp t
  parallel {
    interval end-1..end {
      t = 1.0
    }
    interval 0..2 {
      t = 2.0
    }
    interval 2..end-1 {
      t = out
    }
  }
  parallel {
    interval 1..end {
      out = t[0, 0, -1]
    }
  }
}
