//! The text form: printing and parsing are inverse.

use fieldstone_stencil::text::{parse, print, without_spans};

const SMOOTH: &str = "\
typed stencil smooth {
  field inp: float32[IJK]
  field out: float32[IJK]
  field surface: int16[IJ]
  scalar weight: float32
  temp lap: float32
  temp \"a b\": bool
  parallel {
    interval 0..end {
      lap = ((inp[-1, 0, 0] + inp[1, 0, 0]) - (2:float32 * inp))
      \"a b\" = ((inp > -1.5e-7:float32) and (surface != -3:int16))
    }
  }
  forward {
    interval 0..1 {
      out = inp
    }
    interval 1..end-1 {
      if ((lap > +inf:float32) or not(isnan(lap))) {
        out = (inp + (weight * lap[0, 0, -1]))
        if \"a b\" {
          out = float32(surface[1, 0, 0])
        } else {
          out = min(out, abs(-(inp)))
        }
      } else {
        out = select((weight < 1.0:float32), inp, -(out[0, 0, -1]))
      }
    }
  }
  backward {
    interval end-1..end {
      out = (out + float32(~(surface))):float64
      out = inp:?
    }
  }
}
";

const UNTYPED: &str = "\
stencil untyped {
  field a: float64[IJK]
  scalar n: int64
  field b: float64[K]
  temp t
  temp u: float32
  params b, n, a
  parallel {
    interval 0..end {
      t = (a ** -2)
      u = (float32(0.1) * t:float64)
      a = pow(u, n)
    }
  }
}
";

#[test]
fn what_is_parsed_is_printed_again() {
    for text in [SMOOTH, UNTYPED] {
        let stencil = parse("test", text).unwrap();
        assert_eq!(print(&stencil), text);
    }
}

#[test]
fn spans_point_into_the_text() {
    let stencil = parse("test.fs", UNTYPED).unwrap();
    let stmt = &stencil.computations[0].sections[0].body[1];
    let (file, location) = stencil.sources.locate(stmt.span).unwrap();
    assert_eq!((file, location.line, location.column), ("test.fs", 11, 7));
    let span = stmt.span.start as usize..stmt.span.end as usize;
    assert_eq!(&UNTYPED[span], "u = (float32(0.1) * t:float64)");
    assert!(without_spans(stencil.clone()) != stencil);
}

#[test]
fn errors_point_at_the_place() {
    let within = |body: &str| {
        format!(
            "stencil s {{\n field a: float64[IJK]\n parallel {{ interval 0..end {{\n{body}\n}} }} }}"
        )
    };
    for (body, place, message) in [
        ("a = b", "b", "`b` is not declared"),
        ("b = a", "b", "`b` is no field and no temporary"),
        ("a = (a + )", ")", "Expected a name, found `)`"),
        ("a = (a ? a)", "?", "Expected an operator, found `?`"),
        ("a = a[1, 0]", "]", "Expected `,`, found `]`"),
        (
            "a = a[9999999999, 0, 0]",
            "9999999999",
            "This number does not fit 32 bits",
        ),
        (
            "a = 99999999999999999999",
            "99999999999999999999",
            "Expected a number, found `99999999999999999999`",
        ),
        ("a = sine(a)", "sine", "There is no function `sine`"),
        ("a = select(a, a)", "select", "`select` takes 3 operands"),
        ("a = $", "$", "Unexpected character `$`"),
        ("a = a:float8", "float8", "Expected a type, found `float8`"),
        (
            "a = \"b",
            "\"",
            "A name in quotes is not closed, or has an escape that is not known",
        ),
    ] {
        let text = within(body);
        let errors = parse("test", &text).unwrap_err();
        let [error] = &errors.diagnostics[..] else {
            panic!("{body}: {errors}");
        };
        assert_eq!(error.message, message, "{body}");
        let span = error.primary.span;
        assert_eq!(
            &text[span.start as usize..span.end as usize],
            place,
            "{body}"
        );
    }
    assert!(
        parse("test", "stencil s {")
            .unwrap_err()
            .to_string()
            .contains("the end of the text")
    );
    assert!(parse("test", "").is_err());
    assert!(
        parse("test", "stencil s { fast_math all }")
            .unwrap_err()
            .to_string()
            .contains("`all` is nothing arithmetic may do")
    );
}

#[test]
fn deep_nesting_is_an_error_not_an_overflow() {
    let deep = "(".repeat(100_000);
    let text =
        format!("stencil s {{ field a: float64[IJK] parallel {{ interval 0..end {{ a = {deep}");
    let errors = parse("test", &text).unwrap_err();
    assert_eq!(
        errors.diagnostics[0].message,
        "This expression is nested too deeply"
    );
}

#[test]
fn expressions_of_the_greatest_depth_are_parsed() {
    let sum = format!("{}a{}", "(".repeat(399), " + a)".repeat(399));
    let text = format!(
        "stencil s {{ field a: float64[IJK] parallel {{ interval 0..end {{ a = {sum} }} }} }}"
    );
    let stencil = parse("test", &text).unwrap();
    assert!(print(&stencil).contains(&sum));
    let resolved = fieldstone_stencil::types::resolve(stencil, Default::default()).unwrap();
    assert!(print(&resolved).contains(&sum));
}

/// Loops, regions, levels that are computed, data dimensions.
#[test]
fn every_form_of_access_and_statement_is_printed_as_it_is_read() {
    let text = r"stencil s {
  fast_math contract, no_signed_zeros
  field a: float64[IJK]
  field surface: float64[IJ][3]
  field table: float64[][4, 2]
  field level: int64[IJ]
  temp column: float64[K]
  temp t
  forward {
    interval 0..end {
      t = (a[1, 0, 2 + level] + a[0, 0, at index(K)])
      column = (surface[0, -1, 0][2] + table[0, 0, 0][level, (index(K) + 1)])
      surface[0, 0, 0][0] = t
      a[0, 0, -1] = t
      a[0, 0, 0 + level] = t
      while (t > 0.0) {
        t = (t - column)
      }
      region [0:1, :] {
        a = t
        region [1:end-1, end-2:] {
          a = column
        }
      }
    }
  }
}
";
    let stencil = parse("test", text).expect("the text is valid");
    fieldstone_stencil::verify::verify_ids(&stencil).expect("the stencil is well-formed");
    assert_eq!(print(&stencil), text);
}
