//! Reservations. The model has none, so lists are empty; to make one is refused with a word.

use drawbridge_sim::{SlurmError, Time};
use serde_json::json;

use super::{
    call::{Answer, Call, UNREADABLE},
    reply::{Reply, Trouble},
};

const REJECTED: &str = "Rejecting request. Failure parsing query";

/// `GET reservations`.
pub(super) fn list(call: &mut Call<'_>) -> Answer {
    let source = call.by_release("op_handler_reservations", "_get_reservations");
    let since = call.update_time(UNREADABLE, REJECTED, source)?;
    call.connect(Reply::ok(), "Unable to query reservations", "slurm_load_reservations()")?;
    let changed = call.unix(Time::ZERO);
    if since.is_some_and(|since| changed <= since) {
        return Ok(Reply::not_modified());
    }
    Ok(Reply::ok().with("reservations", json!([])).with("last_update", changed.into()))
}

/// `GET reservation/{name}`: none has that name, which is 200 with an error of number 0.
pub(super) fn one(call: &mut Call<'_>) -> Answer {
    let source = call.by_release("op_handler_reservation", "_get_single_reservation");
    let since = call.update_time(UNREADABLE, REJECTED, source)?;
    let what = "Unable to query reservations";
    call.connect(Reply::ok(), what, "slurm_load_reservations()")?;
    if since.is_some_and(|since| call.unix(Time::ZERO) <= since) {
        return Ok(Reply::not_modified());
    }
    Err(Reply::refused(200, Trouble::nothing(what, "slurm_load_reservations()")))
}

/// `POST reservation` and `POST reservations`.
pub(super) fn update(call: &mut Call<'_>) -> Answer {
    let body = call.body();
    if body.refused {
        return Err(call.refuse(Reply::ok(), body));
    }
    let what = "Failure to create reservation";
    call.connect(Reply::ok(), what, "slurm_create_reservation")?;
    if !call.by_operator() {
        let trouble = Trouble::slurm(SlurmError::UserIdMissing, what, "slurm_create_reservation");
        return Err(Reply::refused(call.refusal(), trouble));
    }
    Err(Reply::not_modelled(call.refusal(), "drawbridge", "reservations"))
}

/// `DELETE reservation/{name}`.
pub(super) fn delete(call: &mut Call<'_>) -> Answer {
    let what = format!("Error deleting reservation {}", call.name);
    let source = "slurm_delete_reservation";
    call.connect(Reply::ok(), &what, source)?;
    let error = match call.by_operator() {
        true => SlurmError::ReservationInvalid,
        false => SlurmError::UserIdMissing,
    };
    Err(Reply::refused(call.refusal(), Trouble::slurm(error, what, source)))
}
