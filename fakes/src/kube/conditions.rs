//! matchConditions.
