//! What slurmrestd's own OpenAPI documents say, condensed: which operations there are, what they take
//! and what they answer.
//!
//! ```text
//!   schema/slurmrestd/24.11.txt ──▶ Table ──┬─▶ route      which operation a path names
//!                 26.05.txt                 ├─▶ Shape      what an answer looks like, field by field
//!                                           ├─▶ Fields     what a body may hold
//!                                           └─▶ openapi    the document that is served
//! ```
//!
//! The versions differ in these tables and in little else: an endpoint says what it knows, and the
//! version's shape decides which of it is printed, and how.

pub(super) mod openapi;
pub(super) mod shape;
pub(super) mod table;
pub(super) mod types;
pub(super) mod version;

pub(super) use self::{
    shape::{Shape, infinite},
    table::{Operation, Table},
    types::{Kind, Type},
    version::Version,
};
