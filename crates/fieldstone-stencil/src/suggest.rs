//! "Did you mean": the known name closest to an unknown one.

/// The candidate closest to `name`, if one is close enough to be a slip of the finger.
pub fn closest<'a>(name: &str, candidates: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    // Of one letter only the case can be a slip.
    let limit = match name.chars().count() {
        1 if name.is_ascii() => 0,
        count => (count / 3).clamp(1, 3),
    };
    candidates
        .filter(|candidate| *candidate != name)
        .map(|candidate| (distance(name, candidate), candidate))
        .filter(|(distance, candidate)| *distance <= limit && *distance < candidate.chars().count())
        .min()
        .map(|(_, candidate)| candidate)
}

/// The known name closest to the last part of a dotted one, with what stands before it.
pub fn closest_path(path: &str, candidates: &[&str]) -> Option<String> {
    let start = path.rfind('.').map_or(0, |dot| dot + 1);
    let close = closest(&path[start..], candidates.iter().copied())?;
    Some(format!("{}{close}", &path[..start]))
}

/// Edits between two names: a character inserted, removed, replaced or swapped with its neighbour; case counts nothing
/// unless it is all that differs.
fn distance(a: &str, b: &str) -> usize {
    let a: Vec<char> = a.chars().flat_map(char::to_lowercase).collect();
    let b: Vec<char> = b.chars().flat_map(char::to_lowercase).collect();
    let mut rows = vec![vec![0; b.len() + 1]; a.len() + 1];
    for i in 0..=a.len() {
        for j in 0..=b.len() {
            rows[i][j] = if i == 0 || j == 0 {
                i + j
            } else {
                let replaced = rows[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
                let edited = replaced.min(rows[i - 1][j] + 1).min(rows[i][j - 1] + 1);
                let swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
                if swapped {
                    edited.min(rows[i - 2][j - 2] + 1)
                } else {
                    edited
                }
            };
        }
    }
    rows[a.len()][b.len()]
}

#[cfg(test)]
mod tests {
    use super::closest;

    #[test]
    fn the_closest_name_is_found() {
        let names = ["lap", "flux_x", "flux_y", "inp", "PARALLEL", "I", "np"];
        for (given, expected) in [
            ("lpa", Some("lap")),
            ("flux_z", Some("flux_x")),
            ("fulx_y", Some("flux_y")),
            ("parallel", Some("PARALLEL")),
            ("ipn", Some("inp")),
            ("velocity", None),
            ("x", None),
            ("i", Some("I")),
        ] {
            assert_eq!(closest(given, names.into_iter()), expected, "{given}");
        }
    }
}
