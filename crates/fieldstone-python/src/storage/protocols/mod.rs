//! How other libraries see a storage, one protocol to a file.
mod array;
mod buffer;
mod data_interface;
mod dlpack;
mod number;
