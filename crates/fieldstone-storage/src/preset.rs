//! Named sets of layout, alignment and device.

use crate::dims::check_dims;
use crate::{Dim, Layout, StorageError};
use std::sync::{PoisonError, RwLock};

/// Compiled kernels on the host read and write whole vectors and cache lines of this many bytes.
const LINE: usize = 64;

/// A warp of the GPU reads and writes this many bytes at once.
const WARP_LINE: usize = 128;

/// In which order a preset's axes lie in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StrideOrder {
    /// By position; the last axis has the smallest stride.
    C,
    /// By position; the first axis has the smallest stride.
    F,
    /// By meaning, wherever in the index the dims stand: from the largest stride to the smallest. Data dimensions have larger
    /// strides than all of them, the first one the largest.
    Dims([Dim; 3]),
}

/// A named set of layout, alignment and device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Preset {
    /// Its name; aliases lead to the preset of the main name.
    pub name: String,
    /// The order of the axes in memory.
    pub order: StrideOrder,
    /// Alignment of the aligned index in bytes.
    pub alignment: usize,
    /// Where the memory is: `cpu` or `gpu`.
    pub device: &'static str,
}

const K_FIRST: StrideOrder = StrideOrder::Dims([Dim::I, Dim::J, Dim::K]);
const I_FIRST: StrideOrder = StrideOrder::Dims([Dim::K, Dim::J, Dim::I]);

/// The presets that are always there: name, aliases, order, alignment, device.
const BUILT_IN: [(&str, &[&str], StrideOrder, usize, &str); 7] = [
    ("C", &[], StrideOrder::C, 1, "cpu"),
    ("F", &[], StrideOrder::F, 1, "cpu"),
    ("debug", &[], K_FIRST, 1, "cpu"),
    ("numpy", &[], K_FIRST, 1, "cpu"),
    (
        "cpu_kfirst",
        &["gtx86", "gt:cpu_kfirst"],
        K_FIRST,
        LINE,
        "cpu",
    ),
    (
        "cpu_ifirst",
        &["gtmc", "gt:cpu_ifirst"],
        I_FIRST,
        LINE,
        "cpu",
    ),
    (
        "gpu",
        &["gtcuda", "gt:gpu", "cuda"],
        I_FIRST,
        WARP_LINE,
        "gpu",
    ),
];

/// The presets that were added.
static ADDED: RwLock<Vec<Preset>> = RwLock::new(Vec::new());

impl Preset {
    /// The preset of this name or alias.
    ///
    /// # Errors
    /// If there is none; the error lists those that are.
    pub fn find(name: &str) -> Result<Preset, StorageError> {
        let added = || {
            let added = ADDED.read().unwrap_or_else(PoisonError::into_inner);
            added.iter().find(|preset| preset.name == name).cloned()
        };
        built_in(name)
            .or_else(added)
            .ok_or_else(|| StorageError::UnknownPreset {
                name: name.to_owned(),
                known: Preset::names(),
            })
    }

    /// All names, without aliases.
    pub fn names() -> Vec<String> {
        let added = ADDED.read().unwrap_or_else(PoisonError::into_inner);
        BUILT_IN
            .iter()
            .map(|&(name, ..)| name.to_owned())
            .chain(added.iter().map(|preset| preset.name.clone()))
            .collect()
    }

    /// Adds this preset to those that can be found.
    ///
    /// # Errors
    /// If the name is taken, the alignment is zero, or the order does not list `I`, `J` and `K` once each.
    pub fn register(self) -> Result<(), StorageError> {
        if self.alignment == 0 {
            return Err(StorageError::Alignment { alignment: 0 });
        }
        if let StrideOrder::Dims(order) = self.order {
            let complete = [Dim::I, Dim::J, Dim::K]
                .iter()
                .all(|dim| order.contains(dim));
            if !complete {
                return Err(StorageError::StrideOrder {
                    order: order.map(|dim| dim.to_string()).join(", "),
                });
            }
        }
        let mut added = ADDED.write().unwrap_or_else(PoisonError::into_inner);
        if built_in(&self.name).is_some() || added.iter().any(|preset| preset.name == self.name) {
            return Err(StorageError::PresetExists { name: self.name });
        }
        added.push(self);
        Ok(())
    }

    /// The layout of a field whose axes mean `dims`, in this order.
    ///
    /// # Errors
    /// If a dim is there twice.
    pub fn layout(&self, dims: &[Dim]) -> Result<Layout, StorageError> {
        check_dims(dims)?;
        let order = match self.order {
            StrideOrder::C => return Ok(Layout::c(dims.len())),
            StrideOrder::F => return Ok(Layout::f(dims.len())),
            StrideOrder::Dims(order) => order,
        };
        let place = |dim: Dim| match dim {
            Dim::Data(number) => (0, number as usize),
            _ => (
                1,
                order
                    .iter()
                    .position(|&other| other == dim)
                    .unwrap_or(order.len()),
            ),
        };
        let mut axes: Vec<usize> = (0..dims.len()).collect();
        axes.sort_by_key(|&axis| place(dims[axis]));
        Layout::from_order(&axes)
    }
}

fn built_in(wanted: &str) -> Option<Preset> {
    BUILT_IN
        .iter()
        .find(|(name, aliases, ..)| *name == wanted || aliases.contains(&wanted))
        .map(|&(name, _, order, alignment, device)| Preset {
            name: name.to_owned(),
            order,
            alignment,
            device,
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout(preset: &str, dims: &str) -> Vec<usize> {
        let dims: Vec<Dim> = dims
            .split("")
            .filter(|s| !s.is_empty())
            .map(|s| s.parse().unwrap())
            .collect();
        Preset::find(preset)
            .unwrap()
            .layout(&dims)
            .unwrap()
            .ranks()
            .to_vec()
    }

    #[test]
    fn layouts_follow_the_meaning_of_axes() {
        for (preset, dims, ranks) in [
            ("F", "IJK", vec![2, 1, 0]),
            ("F", "KJI", vec![2, 1, 0]),
            ("C", "IJK", vec![0, 1, 2]),
            ("C", "KJI", vec![0, 1, 2]),
            ("gtx86", "IJK", vec![0, 1, 2]),
            ("gtx86", "KJI", vec![2, 1, 0]),
            ("gtcuda", "IJK", vec![2, 1, 0]),
            ("gtcuda", "KJI", vec![0, 1, 2]),
            ("cpu_ifirst", "JIK", vec![1, 2, 0]),
            ("cpu_kfirst", "IJ", vec![0, 1]),
            ("cpu_ifirst", "IJ", vec![1, 0]),
            ("cpu_ifirst", "K", vec![0]),
            ("cpu_ifirst", "", vec![]),
            ("cpu_kfirst", "IJK0", vec![1, 2, 3, 0]),
            ("cpu_kfirst", "1IJK0", vec![1, 2, 3, 4, 0]),
            ("cpu_ifirst", "IJK01", vec![4, 3, 2, 0, 1]),
            ("numpy", "KI", vec![1, 0]),
            ("C", "IJK01", vec![0, 1, 2, 3, 4]),
        ] {
            assert_eq!(layout(preset, dims), ranks, "{preset} {dims}");
        }
    }

    #[test]
    fn aliases_lead_to_one_preset() {
        for (alias, name, alignment, device) in [
            ("C", "C", 1, "cpu"),
            ("F", "F", 1, "cpu"),
            ("debug", "debug", 1, "cpu"),
            ("numpy", "numpy", 1, "cpu"),
            ("gtx86", "cpu_kfirst", 64, "cpu"),
            ("gt:cpu_kfirst", "cpu_kfirst", 64, "cpu"),
            ("gtmc", "cpu_ifirst", 64, "cpu"),
            ("gt:cpu_ifirst", "cpu_ifirst", 64, "cpu"),
            ("gtcuda", "gpu", 128, "gpu"),
            ("gt:gpu", "gpu", 128, "gpu"),
            ("cuda", "gpu", 128, "gpu"),
        ] {
            let preset = Preset::find(alias).unwrap();
            assert_eq!(
                (preset.name.as_str(), preset.alignment, preset.device),
                (name, alignment, device)
            );
        }
        let error = Preset::find("gtx87").unwrap_err().to_string();
        assert!(error.starts_with(
            "'gtx87' is no preset; known are C, F, debug, numpy, cpu_kfirst, cpu_ifirst, gpu"
        ));
    }

    #[test]
    fn a_preset_can_be_added_once() {
        let preset = |name: &str| Preset {
            name: name.to_owned(),
            order: StrideOrder::Dims([Dim::J, Dim::K, Dim::I]),
            alignment: 32,
            device: "cpu",
        };
        preset("jki").register().unwrap();
        assert_eq!(layout("jki", "IJK"), [2, 0, 1]);
        for taken in ["jki", "C", "gtx86"] {
            let error = preset(taken).register().unwrap_err().to_string();
            assert_eq!(
                error,
                format!("'{taken}' is a preset already; a preset cannot be replaced")
            );
        }
        let mut bad = preset("bad");
        bad.order = StrideOrder::Dims([Dim::J, Dim::J, Dim::I]);
        assert_eq!(
            bad.register().unwrap_err().to_string(),
            "stride order is J, J, I, but it must list 'I', 'J' and 'K' once each, from the largest stride to the smallest"
        );
        bad = preset("bad");
        bad.alignment = 0;
        bad.register().unwrap_err();
        Preset::find("bad").unwrap_err();
    }
}
