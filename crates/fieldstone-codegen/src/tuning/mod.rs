//! Choices found by measurement: a stencil is run on copies of its arguments, with one choice after the other.

mod copies;

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::cache::Key;
use crate::choices::Choices;
use crate::compilation::{Compilation, Reuse};
use crate::error::RunError;
use crate::layout::Layout;
use crate::target::Target;

pub(crate) use self::copies::{Copies, Place};

/// How long choices are tried; those that are being compared then still are.
const BUDGET: Duration = Duration::from_secs(4);
/// Runs of each of two candidates that are compared.
const RUNS: usize = 15;
/// After so many runs a candidate that is far behind is given up.
const FIRST_RUNS: usize = 3;
/// What a choice must gain: less is what measurements differ by.
const GAIN: f64 = 0.97;

/// A stencil that can be run with any choices, on copies of the arguments of a call.
pub(crate) trait Measured {
    /// Its code with some choices.
    type Candidate;

    /// What to try for a choice that nobody made.
    fn values(&self, choice: &str, best: &Self::Candidate) -> Vec<String>;

    /// Its code with these choices, which is not kept in the cache; `None` if the best so far is the same.
    fn candidate(
        &self,
        choices: &Choices,
        best: Option<&Self::Candidate>,
    ) -> Result<Option<Self::Candidate>, RunError>;

    /// The seconds of a run.
    fn seconds(&self, candidate: &Self::Candidate) -> Result<f64, RunError>;
}

impl Compilation {
    /// The choices for whatever the words of a key say: as noted in the cache, else measured now and noted.
    pub(crate) fn tuned<M: Measured>(
        &self,
        (layout, target): (&Layout, &Target),
        words: &[&str],
        chosen: &Choices,
        measured: impl FnOnce() -> Result<M, RunError>,
    ) -> Result<Choices, RunError> {
        let parts = self.program_parts(target);
        let (layout_words, chosen_words) = (self.in_words(layout), chosen.to_string());
        let words = [&["choices", &layout_words, &chosen_words], words].concat();
        let key = Key::new(&parts.each_ref().map(String::as_str), &words);
        let noted = self.cache.noted(&key);
        let noted = noted.filter(|_| self.reuse != Reuse::Rebuild);
        if let Some(choices) = noted.and_then(|text| Choices::parse(&text).ok()) {
            return Ok(chosen.or(&choices));
        }
        if self.reuse == Reuse::Only {
            return Ok(chosen.clone());
        }
        // Two measurements at once would measure each other.
        static ONE: Mutex<()> = Mutex::new(());
        let _alone = ONE.lock().unwrap_or_else(PoisonError::into_inner);
        let choices = search(&measured()?, chosen)?;
        (self.cache).note(&key, &self.facts(layout, target), &choices.to_string());
        Ok(choices)
    }
}

/// Goes from the choices of the cost model to better ones, one choice at a time.
fn search<M: Measured>(of: &M, chosen: &Choices) -> Result<Choices, RunError> {
    let start = Instant::now();
    let mut choices = chosen.clone();
    let Some(mut best) = of.candidate(chosen, None)? else {
        return Ok(choices);
    };
    for choice in Choices::NAMES {
        for value in of.values(choice, &best) {
            if start.elapsed() > BUDGET {
                return Ok(choices);
            }
            let mut others = choices.clone();
            if others.set(choice, &value).is_err() {
                continue;
            }
            let Some(other) = of.candidate(&others, Some(&best))? else {
                continue;
            };
            if is_faster(of, &other, &best)? {
                (best, choices) = (other, others);
            }
        }
    }
    Ok(choices)
}

/// Whether one candidate is clearly faster than another.
fn is_faster<M: Measured>(
    of: &M,
    one: &M::Candidate,
    other: &M::Candidate,
) -> Result<bool, RunError> {
    let mut ratios = Vec::new();
    for run in 0..RUNS {
        // Whoever runs first may find memory that is not mapped yet.
        if run == 0 {
            of.seconds(one)?;
            of.seconds(other)?;
        }
        ratios.push(of.seconds(one)? / of.seconds(other)?.max(1e-9));
        if run + 1 == FIRST_RUNS && ratios.iter().all(|ratio| *ratio > 1.1) {
            return Ok(false);
        }
    }
    ratios.sort_by(f64::total_cmp);
    Ok(ratios[ratios.len() / 2] < GAIN)
}

/// The power of two below the number of points.
pub(crate) fn size_class(domain: [usize; 3]) -> u32 {
    domain.iter().product::<usize>().max(1).ilog2()
}

/// Sizes of a tile around the one there is, up to so many.
pub(crate) fn sizes_around(now: usize, most: usize) -> Vec<usize> {
    let mut sizes = vec![now / 4, now / 2, now * 2, now * 4];
    sizes.retain(|size| (1..=most.min(Choices::LARGEST)).contains(size) && *size != now);
    sizes
}

#[cfg(test)]
mod tests {
    use super::{size_class, sizes_around};

    #[test]
    fn domains_of_about_the_same_size_are_one_class() {
        assert_eq!(size_class([16, 16, 4]), size_class([17, 18, 5]));
        assert_ne!(size_class([16, 16, 4]), size_class([32, 16, 4]));
        assert_eq!(size_class([0, 3, 4]), 0);
    }

    #[test]
    fn sizes_are_tried_around_the_one_there_is() {
        assert_eq!(sizes_around(8, 16), [2, 4, 16]);
        assert_eq!(sizes_around(1, 3), [2]);
    }
}
