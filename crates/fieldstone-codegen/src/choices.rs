//! What may be chosen about how a stencil runs without changing what it computes.

use std::fmt;

use fieldstone_stencil::Axis;
use fieldstone_stencil::schedule::Neighbours;

/// Choices somebody made; whatever is `None` the cost model decides.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Choices {
    /// Axis that rows run along.
    pub vector: Option<Axis>,
    /// Horizontal axis that rows of columns run along, where levels follow each other in memory.
    pub across: Option<Axis>,
    /// Points of a tile along I, J, K, at most.
    pub tile: [Option<usize>; 3],
    /// Where results are stored that the stencil does not read.
    pub stores: Option<Stores>,
    /// Rows ahead that are fetched into the caches.
    pub fetch: Option<usize>,
    /// Where a device keeps temporaries of which a sweep needs all levels.
    pub columns: Option<Columns>,
    /// Levels of a point that a thread of a device computes, one behind the other.
    pub levels: Option<usize>,
}

/// Where results are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Stores {
    /// In the caches, where somebody may read them next.
    Cached,
    /// Past the caches, which then keep what is read.
    Streamed,
}

/// Where whole columns of temporaries are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Columns {
    /// In arrays.
    Arrays,
    /// In memory of the block of threads that sweeps over them, if there is room for all levels.
    Shared,
}

impl Columns {
    /// Both.
    pub const ALL: [Columns; 2] = [Columns::Arrays, Columns::Shared];

    /// A word for it.
    pub fn name(self) -> &'static str {
        match self {
            Columns::Arrays => "arrays",
            Columns::Shared => "shared",
        }
    }
}

/// A choice that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ChoiceError {
    /// There is no such choice.
    #[error("'{0}' is not known")]
    Name(String),
    /// The value is not one of those that may be chosen.
    #[error("{name} {}, expected {expected}", if .value.is_empty() { "has no value".to_owned() } else { format!("is {value}") })]
    Value {
        /// The choice.
        name: String,
        /// What was given.
        value: String,
        /// What may be given.
        expected: &'static str,
    },
}

impl Stores {
    const ALL: [Stores; 2] = [Stores::Cached, Stores::Streamed];

    /// A word for it.
    pub fn name(self) -> &'static str {
        match self {
            Stores::Cached => "cached",
            Stores::Streamed => "streamed",
        }
    }
}

impl Choices {
    /// Names of all choices.
    pub const NAMES: [&str; 9] = [
        "columns", "vector", "across", "tile.I", "tile.J", "tile.K", "stores", "fetch", "levels",
    ];

    /// Those of code for a processor.
    pub const OF_PROCESSORS: [&str; 7] = [
        "vector", "across", "tile.I", "tile.J", "tile.K", "stores", "fetch",
    ];

    /// Those of kernels for a device.
    pub const OF_DEVICES: [&str; 6] = ["vector", "tile.I", "tile.J", "tile.K", "columns", "levels"];

    /// The most levels that a thread may compute.
    pub const HIGHEST: usize = 16;

    /// The most rows ahead that may be fetched.
    pub const FURTHEST: usize = 64;

    /// The largest tile along an axis that may be chosen: scratch memory grows with it.
    pub const LARGEST: usize = 1 << 16;

    /// Points of a tile along an axis, at most.
    pub fn tile(&self, axis: Axis) -> Option<usize> {
        self.tile[axis.index()]
    }

    /// Which points are neighbours, where nobody chose that these are.
    pub fn neighbours(&self, usual: Neighbours) -> Neighbours {
        let chosen = self.across.filter(|_| usual.contiguous == Axis::K);
        let across = chosen.unwrap_or(usual.across);
        Neighbours {
            across,
            one_vector: usual.one_vector && across == usual.across,
            ..usual
        }
    }

    /// The axis whose tile a choice is of.
    pub fn axis_of(name: &str) -> Option<Axis> {
        let axis = name.strip_prefix("tile.")?;
        Axis::ALL.into_iter().find(|one| one.to_string() == axis)
    }

    /// Those that are not among some, as words.
    pub fn beside(&self, names: &[&str]) -> String {
        let text = self.to_string();
        let is_other = |word: &&str| {
            let name = word.split('=').next();
            name.is_some_and(|name| !names.contains(&name))
        };
        let words: Vec<&str> = text.split_whitespace().filter(is_other).collect();
        words.join(" ")
    }

    /// These choices, and `others` where these have none.
    pub fn or(&self, others: &Choices) -> Choices {
        Choices {
            vector: self.vector.or(others.vector),
            across: self.across.or(others.across),
            tile: std::array::from_fn(|n| self.tile[n].or(others.tile[n])),
            stores: self.stores.or(others.stores),
            fetch: self.fetch.or(others.fetch),
            levels: self.levels.or(others.levels),
            columns: self.columns.or(others.columns),
        }
    }

    /// Makes a choice by its name.
    ///
    /// # Errors
    /// If there is no such choice, or it cannot be this.
    pub fn set(&mut self, name: &str, value: &str) -> Result<(), ChoiceError> {
        let wrong = |expected| ChoiceError::Value {
            name: name.to_owned(),
            value: value.to_owned(),
            expected,
        };
        let axis = |text: &str| Axis::ALL.into_iter().find(|axis| axis.to_string() == text);
        match (name, Choices::axis_of(name)) {
            ("vector", _) => self.vector = Some(axis(value).ok_or(wrong("'I', 'J' or 'K'"))?),
            ("across", _) => {
                let horizontal = axis(value).filter(|axis| *axis != Axis::K);
                self.across = Some(horizontal.ok_or(wrong("'I' or 'J'"))?);
            }
            ("stores", _) => {
                let found = Stores::ALL
                    .into_iter()
                    .find(|stores| stores.name() == value);
                self.stores = Some(found.ok_or(wrong("'cached' or 'streamed'"))?);
            }
            ("fetch", _) => {
                let rows = value.parse().ok().filter(|rows| *rows <= Choices::FURTHEST);
                self.fetch = Some(rows.ok_or(wrong("an integer from 0 to 64"))?);
            }
            ("columns", _) => {
                let mut all = Columns::ALL.into_iter();
                let found = all.find(|columns| columns.name() == value);
                self.columns = Some(found.ok_or(wrong("'arrays' or 'shared'"))?);
            }
            ("levels", _) => {
                let levels = value.parse().ok();
                let levels = levels.filter(|levels| (1..=Choices::HIGHEST).contains(levels));
                self.levels = Some(levels.ok_or(wrong("an integer from 1 to 16"))?);
            }
            (_, Some(axis)) => {
                let points = value.parse().ok();
                let fits = |points: &usize| (1..=Choices::LARGEST).contains(points);
                let points = points
                    .filter(fits)
                    .ok_or(wrong("an integer from 1 to 65536"));
                self.tile[axis.index()] = Some(points?);
            }
            ("tile", _) => {
                return Err(wrong(
                    "points along an axis, as in {'tile': {'J': 32}} or 'tile.J=32'",
                ));
            }
            _ => return Err(ChoiceError::Name(name.to_owned())),
        }
        Ok(())
    }

    /// Reads what `Display` writes.
    ///
    /// # Errors
    /// If that is something else.
    pub fn parse(text: &str) -> Result<Choices, ChoiceError> {
        let mut choices = Choices::default();
        for word in text.split_whitespace() {
            let (name, value) = word.split_once('=').unwrap_or((word, ""));
            choices.set(name, value)?;
        }
        Ok(choices)
    }
}

/// Choices as words such as `tile.J=32 stores=streamed`; nothing where none was made.
impl fmt::Display for Choices {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let vector = self.vector.map(|axis| format!("vector={axis}"));
        let tile = Axis::ALL.map(|axis| {
            let points = self.tile(axis)?;
            Some(format!("tile.{axis}={points}"))
        });
        let stores = self
            .stores
            .map(|stores| format!("stores={}", stores.name()));
        let fetch = self.fetch.map(|rows| format!("fetch={rows}"));
        let levels = self.levels.map(|levels| format!("levels={levels}"));
        let columns = self.columns.map(|one| format!("columns={}", one.name()));
        let across = self.across.map(|axis| format!("across={axis}"));
        let words: Vec<String> = [vector, across]
            .into_iter()
            .chain(tile)
            .chain([stores, fetch, columns, levels])
            .flatten()
            .collect();
        f.write_str(&words.join(" "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        for text in [
            "",
            "tile.J=32",
            "vector=K across=I tile.I=8 tile.J=65536 tile.K=1 stores=streamed fetch=0 columns=shared levels=16",
        ] {
            assert_eq!(Choices::parse(text).unwrap().to_string(), text);
        }
    }

    #[test]
    fn other_words_are_refused() {
        for (text, message) in [
            ("colour=red", "'colour' is not known"),
            ("tile.X=3", "'tile.X' is not known"),
            (
                "tile.I=0",
                "tile.I is 0, expected an integer from 1 to 65536",
            ),
            (
                "stores=",
                "stores has no value, expected 'cached' or 'streamed'",
            ),
            ("fetch=65", "fetch is 65, expected an integer from 0 to 64"),
            ("fetch=-1", "fetch is -1, expected an integer from 0 to 64"),
            (
                "columns=far",
                "columns is far, expected 'arrays' or 'shared'",
            ),
            (
                "levels=17",
                "levels is 17, expected an integer from 1 to 16",
            ),
            ("vector=L", "vector is L, expected 'I', 'J' or 'K'"),
            ("across=K", "across is K, expected 'I' or 'J'"),
        ] {
            assert_eq!(Choices::parse(text).unwrap_err().to_string(), message);
        }
    }

    #[test]
    fn what_was_chosen_comes_before_others() {
        let chosen = Choices::parse("tile.J=32 stores=cached").unwrap();
        let others = Choices::parse("tile.I=64 stores=streamed fetch=3").unwrap();
        assert_eq!(
            chosen.or(&others).to_string(),
            "tile.I=64 tile.J=32 stores=cached fetch=3"
        );
    }

    #[test]
    fn processors_and_devices_have_choices_of_their_own() {
        let all = Choices::parse("vector=I tile.K=2 fetch=1 levels=4").unwrap();
        assert_eq!(all.beside(&Choices::OF_PROCESSORS), "levels=4");
        assert_eq!(all.beside(&Choices::OF_DEVICES), "fetch=1");
    }
}
