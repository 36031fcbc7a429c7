//! What a stencil was compiled to so far, one variant for each layout, and whatever else code is made for.

use std::sync::{Arc, PoisonError, RwLock};

/// The variants of a stencil, in the order in which they were compiled.
pub(crate) struct Variants<V>(RwLock<Vec<Arc<V>>>);

impl<V> Default for Variants<V> {
    fn default() -> Self {
        Self(RwLock::default())
    }
}

impl<V> Variants<V> {
    /// The one that is wanted, if there is one.
    pub fn find(&self, is_wanted: impl Fn(&V) -> bool) -> Option<Arc<V>> {
        let all = self.0.read().unwrap_or_else(PoisonError::into_inner);
        all.iter().find(|one| is_wanted(one)).cloned()
    }

    /// Keeps one that was compiled. Two threads may compile the same code at once; the first to finish is kept.
    pub fn add(&self, fresh: V, is_wanted: impl Fn(&V) -> bool) -> Arc<V> {
        let mut all = self.0.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = all.iter().find(|one| is_wanted(one)) {
            return known.clone();
        }
        let fresh = Arc::new(fresh);
        all.push(fresh.clone());
        fresh
    }

    /// All of them.
    pub fn all(&self) -> Vec<Arc<V>> {
        let all = self.0.read().unwrap_or_else(PoisonError::into_inner);
        all.clone()
    }
}
