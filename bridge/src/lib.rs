//! The bridge's shell: what surrounds the pure core and touches the world.

pub mod config;
pub mod journal;
pub mod slurm;
pub mod yaml;
