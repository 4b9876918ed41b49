//! A cluster in one value: the API server and all that stands behind it.

mod behaviour;

pub use behaviour::{Behaviour, Mpi, PodMatch, Runtime, Spread};
