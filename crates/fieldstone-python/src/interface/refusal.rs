//! Why the memory of an object cannot be had, and how that is said to who asked for it.

use fieldstone_storage::Dim;
use pyo3::prelude::*;

use super::dims::{BadLabels, show};
use super::{Purpose, Request};
use crate::errors::raise;

/// What is wrong with an object, or with a value it gave.
pub enum Refusal {
    /// It speaks no protocol.
    NoMemory,
    /// NumPy does not take it, for this reason.
    NoArray(PyErr),
    /// It says of some of its elements that they are not valid.
    Masked,
    /// The exchange by DLPack failed.
    Exchange(PyErr),
    /// What it gives for an exchange by DLPack is not what it should be: it ...
    Capsule { problem: String },
    /// Its memory is on a device that we do not know.
    OnDevice { place: String },
    /// Its data interface is no dictionary.
    NoDevices { attribute: &'static str },
    /// What should describe its memory is no dictionary.
    NoDescription { attribute: &'static str },
    /// Its data interface has nothing for the host or a GPU.
    NoEntryForDevice {
        attribute: &'static str,
        keys: String,
    },
    /// What the data interface has for host memory is no dictionary.
    NoBuffer { attribute: &'static str },
    /// The buffer's dictionary lacks an entry.
    NoEntry {
        attribute: &'static str,
        key: &'static str,
    },
    /// An entry of the buffer's dictionary is not what it should be.
    WrongEntry {
        attribute: &'static str,
        problem: String,
    },
    /// There are elements, but at no address.
    NullAddress { attribute: &'static str },
    /// The halo is not one entry for each axis.
    Halo {
        attribute: &'static str,
        entries: Option<usize>,
        rank: usize,
    },
    /// What should be labels of axes is none.
    Labels {
        source: &'static str,
        problem: BadLabels,
    },
    /// There is not one label for each axis.
    LabelCount {
        source: &'static str,
        dims: Vec<Dim>,
        rank: usize,
    },
    /// The attribute for the first point of the domain holds no indices.
    Origin { attribute: &'static str },
}

impl Request<'_, '_> {
    /// The exception for a refusal of `value`.
    pub fn refuse(&self, value: &Bound<'_, PyAny>, refusal: Refusal) -> PyErr {
        let (class, message) = if self.purpose == Purpose::Call {
            refusal.of_argument(self.name, value)
        } else {
            refusal.of_data(self, value)
        };
        let error = raise(value.py(), class, message);
        if let Refusal::NoArray(cause) | Refusal::Exchange(cause) = refusal {
            error.set_cause(value.py(), Some(cause));
        }
        error
    }
}

impl Refusal {
    /// Class and message for the argument of a stencil called `name`.
    fn of_argument(&self, name: &str, value: &Bound<'_, PyAny>) -> (&'static str, String) {
        let shown = || describe_value(value);
        let (class, problem) = match self {
            Refusal::NoMemory => (
                "ArgumentTypeError",
                format!(
                    " is {}, expected an array: a storage, a NumPy array, an xarray DataArray, or an object with \
                     __gt_data_interface__, __array_interface__, the buffer protocol or DLPack",
                    shown()
                ),
            ),
            Refusal::NoArray(cause) | Refusal::Exchange(cause) => (
                "ArgumentTypeError",
                format!(
                    " ({}) cannot be used as an array without a copy: {}",
                    type_name(value),
                    first_line(value, cause)
                ),
            ),
            Refusal::Capsule { problem } => {
                ("ArgumentValueError", format!(": {CAPSULE} {problem}"))
            }
            Refusal::Masked => ("ArgumentValueError", format!(" {MASKED}")),
            Refusal::OnDevice { place } => (
                "DeviceError",
                format!(
                    " is in device memory ({place}) that belongs to none of fieldstone.devices(); pass a host array, such as \
                     the one that .get(), .cpu() or cupy.asnumpy() gives"
                ),
            ),
            Refusal::NoDevices { attribute } => (
                "ArgumentTypeError",
                format!(
                    ": its {attribute} is {}, expected a dictionary from device to buffer, such as {{None: {{...}}}}",
                    shown()
                ),
            ),
            Refusal::NoDescription { attribute } => (
                "ArgumentTypeError",
                format!(": its {attribute} is {}, expected a dictionary", shown()),
            ),
            Refusal::NoEntryForDevice { attribute, keys } => (
                "ArgumentValueError",
                format!(": its {attribute} has buffers for {keys}, expected one for {DEVICES}"),
            ),
            Refusal::NoBuffer { attribute } => (
                "ArgumentValueError",
                format!(
                    ": its {attribute} maps to {}, expected a dictionary",
                    shown()
                ),
            ),
            Refusal::NoEntry { attribute, key } => (
                "ArgumentValueError",
                format!(": its {attribute} has no '{key}'"),
            ),
            Refusal::WrongEntry { attribute, problem } => {
                ("ArgumentValueError", format!(": its {attribute} {problem}"))
            }
            Refusal::NullAddress { attribute } => (
                "ArgumentValueError",
                format!(": its {attribute} has the address 0"),
            ),
            Refusal::Halo {
                attribute, rank, ..
            } => (
                "ArgumentValueError",
                format!(": its {attribute} {}", wrong_halo(value, *rank)),
            ),
            Refusal::Labels { source, problem } => (
                "DimensionsError",
                format!(
                    ": its {source} {} {}",
                    text_of(value),
                    wrong_labels(problem)
                ),
            ),
            Refusal::LabelCount { source, dims, rank } => {
                let problem = if dims.len() > *rank {
                    format!("has more labels than the {rank} axes of the array")
                } else {
                    format!("has {} labels for the {rank} axes of the array", dims.len())
                };
                (
                    "DimensionsError",
                    format!(": its {source} {} {problem}", text_of(value)),
                )
            }
            Refusal::Origin { attribute } => ("OriginError", wrong_origin(attribute, value)),
        };
        (class, format!("argument '{name}'{problem}"))
    }

    /// Class and message for the data of a storage.
    fn of_data(
        &self,
        request: &Request<'_, '_>,
        value: &Bound<'_, PyAny>,
    ) -> (&'static str, String) {
        let kind = type_name(value);
        let (class, problem) = match self {
            Refusal::NoArray(cause) if request.purpose == Purpose::Copy => (
                "ArgumentTypeError",
                format!(
                    ": an object of type {kind} is no array: {}",
                    first_line(value, cause)
                ),
            ),
            Refusal::Masked => ("ArgumentValueError", format!(": the array {MASKED}")),
            Refusal::NoMemory | Refusal::NoArray(_) => {
                let why = match self {
                    Refusal::NoArray(cause) => format!(" ({})", first_line(value, cause)),
                    _ => String::new(),
                };
                (
                    "ArgumentTypeError",
                    format!(
                        ": an object of type {kind} has no memory that can be used as it is{why}; copy it with storage(data), or \
                         convert it to an array first"
                    ),
                )
            }
            Refusal::Exchange(cause) => (
                "ArgumentValueError",
                format!(": its DLPack exchange failed: {}", cause.value(value.py())),
            ),
            Refusal::Capsule { problem } => {
                ("ArgumentValueError", format!(": {CAPSULE} {problem}"))
            }
            Refusal::OnDevice { place } => (
                "DeviceError",
                format!(
                    ": it is in device memory ({place}) that belongs to none of fieldstone.devices()"
                ),
            ),
            Refusal::NoDevices { attribute } => (
                "ArgumentTypeError",
                format!(
                    ": its {attribute}: expected a dictionary of devices, got {}",
                    describe_value(value)
                ),
            ),
            Refusal::NoDescription { attribute } => (
                "ArgumentTypeError",
                format!(
                    ": its {attribute}: expected a dictionary, got {}",
                    describe_value(value)
                ),
            ),
            Refusal::NoEntryForDevice { attribute, keys } => (
                "ArgumentValueError",
                format!(
                    ": the {attribute} of the {kind} has buffers for {keys}, expected one for {DEVICES}"
                ),
            ),
            Refusal::NoBuffer { .. } => (
                "ArgumentTypeError",
                ": the data interface of the object has no dictionary for its memory".into(),
            ),
            Refusal::NoEntry { attribute, key } => (
                "ArgumentTypeError",
                format!(": the {attribute} of the {kind} has no '{key}'"),
            ),
            Refusal::WrongEntry { attribute, problem } => (
                "ArgumentValueError",
                format!(": its {attribute} does not describe an array: it {problem}"),
            ),
            Refusal::NullAddress { attribute } => (
                "ArgumentValueError",
                format!(": its {attribute} does not describe an array: data is NULL"),
            ),
            Refusal::Halo {
                entries: Some(entries),
                rank,
                ..
            } => (
                "ArgumentValueError",
                format!(": the halo of its data interface has {entries} entries for {rank} axes"),
            ),
            Refusal::Halo { rank, .. } => (
                "ArgumentValueError",
                format!(": its data interface {}", wrong_halo(value, *rank)),
            ),
            Refusal::Labels { problem, .. } => {
                let message = format!("dims: {} {}", text_of(value), wrong_labels(problem));
                return ("DimensionsError", message);
            }
            Refusal::LabelCount { dims, rank, .. } => {
                let message = format!(
                    "dims: the data says that its axes are {}, but it has {rank} axes",
                    show(dims)
                );
                return ("DimensionsError", message);
            }
            Refusal::Origin { attribute } => ("OriginError", wrong_origin(attribute, value)),
        };
        (class, format!("{}{problem}", request.name))
    }
}

const DEVICES: &str = "None or 'cpu', or for 'gpu' or ('gpu', number)";

const CAPSULE: &str = "the DLPack capsule of the object";

const MASKED: &str =
    "has masked elements, whose values mean nothing; choose values for them with .filled(value)";

/// What an exception says, without the advice that NumPy adds for library authors.
fn first_line(value: &Bound<'_, PyAny>, cause: &PyErr) -> String {
    let text = cause.value(value.py()).to_string();
    text.lines().next().unwrap_or_default().to_string()
}

fn wrong_halo(halo: &Bound<'_, PyAny>, rank: usize) -> String {
    format!(
        "has the halo {}, expected for each of {rank} axes a pair of integers that are not negative",
        describe_value(halo)
    )
}

fn wrong_labels(problem: &BadLabels) -> String {
    match problem {
        BadLabels::NoSequence => {
            "is no sequence; expected one label for each axis, such as ('I', 'J', 'K')".into()
        }
        BadLabels::Unknown(label) => format!(
            "has an unknown label, '{label}'; expected 'I', 'J', 'K', or a number for a data dimension"
        ),
        BadLabels::Repeated(dim) => format!("repeats '{dim}'"),
        BadLabels::Raised(error) => format!("cannot be read: {error}"),
    }
}

fn wrong_origin(attribute: &str, origin: &Bound<'_, PyAny>) -> String {
    format!(
        ": its {attribute} is {}, expected one integer for each axis",
        describe_value(origin)
    )
}

fn text_of(value: &Bound<'_, PyAny>) -> String {
    value
        .repr()
        .map_or_else(|_| "?".into(), |text| text.to_string())
}

/// A value for a message: its type, and the value itself when it is short.
pub fn describe_value(object: &Bound<'_, PyAny>) -> String {
    if object.is_none() {
        return "None".into();
    }
    let kind = type_name(object);
    match object.repr() {
        Ok(text) if text.to_string().len() <= 40 => format!("{text} (of type {kind})"),
        _ => format!("of type {kind}"),
    }
}

/// The name of an object's type.
pub fn type_name(object: &Bound<'_, PyAny>) -> String {
    object
        .get_type()
        .qualname()
        .map_or_else(|_| "?".into(), |name| name.to_string())
}
