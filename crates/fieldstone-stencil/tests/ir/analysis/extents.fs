# Fourth-order diffusion with flux limiter.
stencil hdiff {
  field inp: float64[IJK]
  field out: float64[IJK]
  field coefficient: float64[IJK]
  temp lap
  temp flx
  temp fly
  temp difference
  parallel {
    interval 0..end {
      lap = ((4.0 * inp) - (((inp[1, 0, 0] + inp[-1, 0, 0]) + inp[0, 1, 0]) + inp[0, -1, 0]))
      difference = (lap[1, 0, 0] - lap)
      flx = select(((difference * (inp[1, 0, 0] - inp)) > 0), 0.0, difference)
      difference = (lap[0, 1, 0] - lap)
      fly = select(((difference * (inp[0, 1, 0] - inp)) > 0), 0.0, difference)
      out = (inp - (coefficient * (((flx - flx[-1, 0, 0]) + fly) - fly[0, -1, 0])))
    }
  }
}

# A Thomas solver reads the level before, and the level after.
stencil tridiagonal {
  field a: float64[IJK]
  field b: float64[IJK]
  field c: float64[IJK]
  field x: float64[IJK]
  field z: float64[K]
  temp gamma
  temp beta
  forward {
    interval 0..1 {
      beta = (1.0 / b)
      gamma = 0.0
      x = (x * beta)
    }
    interval 1..end {
      gamma = (c[0, 0, -1] * beta[0, 0, -1])
      beta = (1.0 / (b - (a * gamma)))
      x = ((x - (a * x[0, 0, -1])) * (beta * (z - z[0, 0, -1])))
    }
  }
  backward {
    interval 0..end-1 {
      x = (x - (gamma[0, 0, 1] * x[0, 0, 1]))
    }
  }
}

# Extents are asked for through a carried value, against program order.
stencil carried {
  field inp: float64[IJK]
  field out: float64[IJK]
  temp sum
  temp step
  forward {
    interval 0..1 {
      step = inp
      sum = inp
    }
    interval 1..end {
      sum = (sum[0, 0, -1] + step[0, 0, -1])
      step = inp[0, -1, 0]
    }
  }
  parallel {
    interval 0..end {
      out = (sum[2, 0, 0] - sum)
    }
  }
}

# A field that is written and then read with an offset is written around the domain too.
stencil written_halo {
  field inp: float64[IJK]
  field mid: float64[IJK]
  field out: float64[IJK]
  parallel {
    interval 0..end {
      mid = inp
      out = (mid[-1, 0, 0] + mid[2, 0, 0])
    }
  }
}

# Lower-dimensional fields; one without K is carried from level to level.
stencil surface {
  field f: float32[IJK]
  field total: float32[IJ]
  field height: float32[K]
  scalar weight: float32
  forward {
    interval 0..1 {
      total = 0
    }
    interval 0..end {     # error FS0402: intervals of one computation overlap
      total = (total + (f * height))
    }
  }
}

stencil surface_sum {
  field f: float32[IJK]
  field total: float32[IJ]
  field height: float32[K]
  field smooth: float32[IJ]
  forward {
    interval 0..end {
      total = (total + (f * height[0, 0, 0]))
    }
  }
  forward {
    interval 0..1 {
      smooth = (total[1, 0, 0] + total)
    }
  }
}
