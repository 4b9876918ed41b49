//! Dynamic resource allocation: Slurm chooses the devices, the bridge writes them into the claims.
//!
//! ```text
//!   claims, device classes ─▶ demands ─▶ GRES of the job        (translation)
//!   the job's gres_detail ──▶ grants ──┐
//!   ResourceSlices ─────────▶ shelf ───┴▶ devices of each pod   (once the job runs)
//!        create, protect, allocate and reserve, tell the pod    (before it is bound)
//!        free, or delete what was created                       (when it lost its job, or is over)
//! ```
//!
//! Nothing of it is remembered: what is still to be done follows from the claims as they are, and
//! which devices are a pod's follows from the job's allocation and the pod's place in it. Slurm never
//! gives a device to two jobs; should a claim hold one nevertheless, the pod waits for it.

mod assign;
mod demand;
mod grant;
mod shelf;
mod step;
mod view;

pub(crate) use assign::{Assigned, Snag, Table, assign};
pub(crate) use demand::{Demand, Lack, claimed, demands, needs_devices};
pub(crate) use shelf::{Listing, Shelf};
pub(crate) use step::{Kind, Step, Tools, free, next, release};
pub(crate) use view::{ClaimView, ClassView, SliceView};
