stencil misspelt {
  field temperature: float64[IJK]
  field tendency: float64[IJK]    # warning FS0420: the parameter `tendency` is not used
  scalar dt: float64              # warning FS0420: the parameter `dt` is not used
  temp tendecny                   # warning FS0421: `tendecny` is assigned but never read
  temp unrelated                  # warning FS0421: `unrelated` is assigned but never read
  parallel {                      # warning FS0422: `misspelt` assigns none of its fields
    interval 0..end {
      tendecny = (temperature * 2)
      unrelated = temperature[3, 0, 0]
    }
  }
}
