typed stencil fine {
  field a: float32[IJK]
  parallel {
    interval 0..end {
      a = ((a * 2:float32) ** 2:float32)
    }
  }
}

typed stencil no_type {
  field a: float32[IJK]
  parallel {
    interval 0..end {
      a = (a * 2)                       # error: an expression has no type
    }
  }
}

typed stencil no_type_of_a_temporary {
  field a: float32[IJK]
  temp t                                # error: temporary `t` has no type
  parallel {
    interval 0..end {
      a = (a * 2:float32)
    }
  }
}

typed stencil mixed_operands {
  field a: float32[IJK]
  field b: float64[IJK]
  parallel {
    interval 0..end {
      a = (a * b)                       # error: an operand must be float32 but is float64
    }
  }
}

typed stencil wrong_assignment {
  field a: float32[IJK]
  field b: float64[IJK]
  parallel {
    interval 0..end {
      a = b                             # error: the value of an assignment must be float32 but is float64
    }
  }
}

typed stencil wrong_access {
  field a: float32[IJK]
  parallel {
    interval 0..end {
      a = float32(a:float64)            # error: an access must be float32 but is float64
    }
  }
}

typed stencil integer_division {
  field a: int32[IJK]
  parallel {
    interval 0..end {
      a = (a / a)                       # error: `/` has no meaning for int32
    }
  }
}

typed stencil condition {
  field a: int32[IJK]
  parallel {
    interval 0..end {
      if a {                            # error: a condition must be bool but is int32
        a = 0:int32
      }
    }
  }
}

typed stencil comparison {
  field a: int32[IJK]
  parallel {
    interval 0..end {
      a = (a < a):int32                 # error: a comparison must be bool but is int32
    }
  }
}

typed stencil literal {
  field a: int8[IJK]
  parallel {
    interval 0..end {
      a = 128:int8                      # error: the literal Int(128) cannot be int8
    }
  }
}

typed stencil cast {
  field a: int8[IJK]
  parallel {
    interval 0..end {
      a = int8(a)                       # error: a cast from int8 to itself
    }
  }
}

typed stencil operator {
  field a: float64[IJK]
  parallel {
    interval 0..end {
      a = pow(a, a)                     # error: `pow` is an operator
    }
  }
}

typed stencil arity {
  field a: float64[IJK]
  parallel {
    interval 0..end {
      a = max(a)                        # error: `max` takes 2 operands but has 1
    }
  }
}

typed stencil function_of_an_integer {
  field a: int64[IJK]
  parallel {
    interval 0..end {
      a = sin(a)                        # error: `sin` has no meaning for int64
    }
  }
}

typed stencil missing_axis {
  field a: float64[IJK]
  field b: float64[IJ]
  parallel {
    interval 0..end {
      a = b[1, 0, 1]                    # error: `b` is accessed at [1, 0, 1] but has no K axis
    }
  }
}
