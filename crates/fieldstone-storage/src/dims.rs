//! What the axes of a field mean.

use crate::StorageError;
use std::fmt;
use std::str::FromStr;

/// The meaning of one axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Dim {
    /// First horizontal axis of the grid.
    I,
    /// Second horizontal axis of the grid.
    J,
    /// Vertical axis of the grid.
    K,
    /// Axis number `n` of the data at each grid point.
    Data(u32),
}

impl Dim {
    /// The dims of a field that does not say: `I`, `J`, `K`, then data dimensions.
    pub fn defaults(ndim: usize) -> Vec<Dim> {
        [Dim::I, Dim::J, Dim::K]
            .into_iter()
            .chain((0..).map(Dim::Data))
            .take(ndim)
            .collect()
    }
}

impl FromStr for Dim {
    type Err = StorageError;

    fn from_str(name: &str) -> Result<Self, StorageError> {
        let unknown = || StorageError::UnknownDim {
            name: name.to_owned(),
        };
        match name {
            "I" => Ok(Dim::I),
            "J" => Ok(Dim::J),
            "K" => Ok(Dim::K),
            _ => {
                let number = name.parse().map_err(|_| unknown())?;
                let dim = Dim::Data(number);
                // One spelling for each dimension: no sign, no leading zeros.
                if dim.to_string() == name {
                    Ok(dim)
                } else {
                    Err(unknown())
                }
            }
        }
    }
}

impl fmt::Display for Dim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Dim::I => f.write_str("I"),
            Dim::J => f.write_str("J"),
            Dim::K => f.write_str("K"),
            Dim::Data(number) => write!(f, "{number}"),
        }
    }
}

/// Checks that no dim stands in `dims` twice.
///
/// # Errors
/// Naming the first one that does.
pub fn check_dims(dims: &[Dim]) -> Result<(), StorageError> {
    for (axis, dim) in dims.iter().enumerate() {
        if dims[..axis].contains(dim) {
            return Err(StorageError::RepeatedDim {
                name: dim.to_string(),
            });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_dims_match() {
        for name in ["I", "J", "K", "0", "1", "12"] {
            assert_eq!(name.parse::<Dim>().unwrap().to_string(), name);
        }
        for name in ["", "i", "L", "00", "+1", "-1", "1.0", "99999999999"] {
            let error = name.parse::<Dim>().unwrap_err().to_string();
            assert_eq!(
                error,
                format!(
                    "'{name}' is no dimension; expected 'I', 'J', 'K', or '0', '1', … for a data dimension"
                )
            );
        }
    }

    #[test]
    fn a_dim_stands_once() {
        check_dims(&Dim::defaults(6)).unwrap();
        let error = check_dims(&[Dim::I, Dim::Data(2), Dim::Data(2)]).unwrap_err();
        assert_eq!(error.to_string(), "dims has '2' more than once");
    }
}
