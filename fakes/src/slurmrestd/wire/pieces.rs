//! A long list of jobs, written piece by piece from a copy of the model.
//!
//! The copy shares the jobs with the model, so it is made in no time; what takes time is the writing,
//! and that happens without the model.

use drawbridge_sim::{JobId, Slurmctld, Time};
use serde_json::Value;

use crate::{
    Request,
    slurmrestd::{
        Peer, Slurm,
        api::Operation,
        job_json::{JobView, job_json},
        jobs, route,
    },
};

use super::media::Media;

/// From so many jobs on a list is written while it is sent.
const MANY: usize = 200;
/// Jobs in a piece.
const PIECE: usize = 50;

/// A list that is being written.
#[derive(Debug)]
pub struct Pieces {
    ctld: Slurmctld,
    now: Time,
    associations: jobs::Associations,
    operation: &'static Operation,
    detail: bool,
    ids: std::vec::IntoIter<JobId>,
    began: bool,
    /// What comes after the list; taken when it was sent.
    rest: Option<Vec<u8>>,
}

impl Slurm {
    /// A long list of jobs in pieces; nothing if the answer is another one.
    pub(super) fn pieces(
        &mut self,
        now: Time,
        request: &Request,
        trusted: bool,
        peer: &Peer,
        media: Media,
    ) -> Option<Pieces> {
        let json = matches!(media, Media::Json(_));
        self.wake(now);
        let release = self.ctld().config().release();
        let route = route::route(release, request.method, &request.path)?;
        let listed =
            &*route.operation.name == "slurm_get_jobs" && request.query("update_time").is_none();
        if !json || !trusted || !listed || self.ctld().jobs().count() < MANY {
            return None;
        }
        // The answer without its jobs says the rest: times, warnings, errors.
        let response = self.handle_listing(now, request, peer);
        let body = response.body.as_object().filter(|_| response.status == 200)?;
        let rest = body.iter().filter(|(key, _)| *key != "jobs");
        let rest = rest.map(|(key, value)| format!(",{}:{value}", Value::String(key.clone())));
        let rest = format!("]{}}}", rest.collect::<String>()).into_bytes();
        let ids: Vec<JobId> = self.ctld().jobs().map(|job| job.id).collect();
        Some(Pieces {
            ctld: self.ctld().clone(),
            now,
            associations: jobs::Associations::of(self.dbd()),
            operation: route.operation,
            detail: jobs::is_detailed(request),
            ids: ids.into_iter(),
            began: false,
            rest: Some(rest),
        })
    }
}

impl Iterator for Pieces {
    type Item = Vec<u8>;

    fn next(&mut self) -> Option<Vec<u8>> {
        let mut piece = vec![];
        if !self.began {
            piece.extend_from_slice(b"{\"jobs\":[");
        }
        let shape = self.operation.shape.field("jobs").and_then(|jobs| jobs.items());
        let view = JobView {
            ctld: &self.ctld,
            now: self.now,
            associations: &self.associations,
            version: self.operation.version,
            detail: self.detail,
        };
        for id in self.ids.by_ref().take(PIECE) {
            let Some((job, shape)) = self.ctld.job(id).zip(shape) else {
                continue;
            };
            if self.began {
                piece.push(b',');
            }
            self.began = true;
            let _ = serde_json::to_writer(&mut piece, &shape.fill(job_json(&view, job)));
        }
        if self.ids.len() == 0 {
            piece.extend(self.rest.take()?);
        }
        Some(piece)
    }
}
