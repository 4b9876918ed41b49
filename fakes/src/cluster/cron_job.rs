//! The CronJob controller: makes a Job at every time that its schedule names.
//!
//! ```text
//!   the last time that passed ──▶ too late? already made? one still runs and Forbid? ──▶ no
//!                             └─▶ Replace: the one that runs goes ──▶ a Job named after the minute
//! ```

mod schedule;

use std::{collections::BTreeSet, sync::Arc};

use drawbridge_sim::{Span, Time};
use jiff::tz::TimeZone;
use serde_json::{Value, json};

use self::schedule::Schedule;
pub(crate) use self::schedule::zone;
use super::{
    controllers::Sight,
    object::{Key, changed, deleting, holds, items, owned_by, text, time, uid},
    plan::{Plan, Subject, patch},
};
use crate::{Method, Request};

/// Who the CronJob controller is to the API server.
pub(crate) const USER: &str = "system:serviceaccount:kube-system:cronjob-controller";
const COMPONENT: &str = "cronjob-controller";
const SCHEDULED: &str = "batch.kubernetes.io/cronjob-scheduled-timestamp";
/// So much after its time a start is looked for, because clocks differ.
const SKEW: Span = Span::ms(100);
/// More missed starts than this are worth a warning.
const MANY: i64 = 100;

/// Whether a time zone of this name is known.
pub(crate) fn knows_zone(name: &str) -> bool {
    zone(name).is_some()
}

/// What is wrong with a schedule, or (`true`) with its time zone: what the API server refuses.
pub(crate) fn schedule_error(schedule: &str, zone_name: &str) -> Option<(String, bool)> {
    if schedule.contains("TZ=") {
        let why = "cannot use TZ or CRON_TZ in schedule, use timeZone field instead";
        return Some((why.to_owned(), false));
    }
    if let Err(why) = Schedule::parse(schedule) {
        return Some((why, false));
    }
    let lost = !zone_name.is_empty() && !knows_zone(zone_name);
    lost.then(|| (format!("unknown time zone {zone_name}"), true))
}

/// Decides what to do about a CronJob.
pub(crate) fn decide(sight: Sight<'_>, it: &Value) -> Plan {
    let jobs: Vec<&Arc<Value>> = sight.owned(it, "jobs.batch").collect();
    let mut look = Look { sight, it, plan: Plan::nothing(), jobs, status: json!({}) };
    look.see_jobs();
    if !deleting(it) {
        look.forget_old();
        look.start();
    }
    look.finish()
}

struct Look<'a> {
    sight: Sight<'a>,
    it: &'a Value,
    plan: Plan,
    jobs: Vec<&'a Arc<Value>>,
    status: Value,
}

fn finished(job: &Value) -> Option<&'static str> {
    ["Complete", "Failed"].into_iter().find(|kind| holds(job, kind))
}

impl Look<'_> {
    fn now(&self) -> i64 {
        i64::try_from(self.sight.at.epoch.unix(self.sight.at.now)).unwrap_or(i64::MAX)
    }

    fn unix(&self, value: &Value) -> Option<i64> {
        let at = time(self.sight.at.epoch, value)?;
        i64::try_from(self.sight.at.epoch.unix(at)).ok()
    }

    fn time(&self, unix: i64) -> Time {
        self.sight.at.epoch.time_of_unix(u64::try_from(unix).unwrap_or(0))
    }

    fn note(&mut self, reason: &str, message: String) {
        self.plan.tell(Subject::of(self.it).notes(COMPONENT, reason, message));
    }

    fn warn(&mut self, reason: &str, message: String) {
        self.plan.tell(Subject::of(self.it).warns(COMPONENT, reason, message));
    }

    /// What became of the Jobs that were running.
    fn see_jobs(&mut self) {
        let known: BTreeSet<&str> =
            items(&self.it["status"]["active"]).iter().map(|active| text(&active["uid"])).collect();
        let here: BTreeSet<&str> = self.jobs.iter().map(|job| uid(job)).collect();
        for active in items(&self.it["status"]["active"]) {
            if !here.contains(text(&active["uid"])) {
                let name = text(&active["name"]);
                self.note("MissingJob", format!("Active job went missing: {name}"));
            }
        }
        let mut last = text(&self.it["status"]["lastSuccessfulTime"]).to_owned();
        for job in self.jobs.clone() {
            let name = text(&job["metadata"]["name"]);
            let ours = job["metadata"]["annotations"][SCHEDULED].is_string();
            match finished(job) {
                Some(end) if known.contains(uid(job)) => {
                    let message = format!("Saw completed job: {name}, condition: {end}");
                    self.note("SawCompletedJob", message);
                }
                None if !ours && !known.contains(uid(job)) => {
                    let what = "Saw a job that the controller did not create or forgot";
                    self.warn("UnexpectedJob", format!("{what}: {name}"));
                }
                Some(_) | None => {}
            }
            last = last.max(text(&job["status"]["completionTime"]).to_owned());
        }
        if !last.is_empty() {
            self.status["lastSuccessfulTime"] = last.into();
        }
    }

    /// The Jobs that run.
    fn active(&self) -> Vec<&Arc<Value>> {
        let live = self.jobs.iter().filter(|job| finished(job).is_none() && !deleting(job));
        live.copied().collect()
    }

    /// Removes finished Jobs beyond the history that is kept.
    fn forget_old(&mut self) {
        for (end, limit, usual) in
            [("Complete", "successfulJobsHistoryLimit", 3), ("Failed", "failedJobsHistoryLimit", 1)]
        {
            let keep = self.it["spec"][limit].as_u64().unwrap_or(usual);
            let mut ended: Vec<&Arc<Value>> =
                self.jobs.iter().copied().filter(|job| holds(job, end)).collect();
            ended.retain(|job| !deleting(job));
            ended.sort_by_key(|job| {
                let started = text(&job["status"]["startTime"]).to_owned();
                (started.is_empty(), started, Key::of(job))
            });
            let surplus = ended.len().saturating_sub(usize::try_from(keep).unwrap_or(usize::MAX));
            for job in &ended[..surplus] {
                self.delete(job);
            }
        }
    }

    fn delete(&mut self, job: &Value) {
        let Key { namespace, name } = Key::of(job);
        let path = format!("/apis/batch/v1/namespaces/{namespace}/jobs/{name}");
        let request =
            Request::new(USER, Method::Delete, path).with_query("propagationPolicy", "Background");
        let about = Subject::of(self.it);
        let done = about.notes(COMPONENT, "SuccessfulDelete", format!("Deleted job {name}"));
        let failed = about.warns(COMPONENT, "FailedDelete", "Deleted job: ".into());
        self.plan.send_telling(request, done, failed);
    }

    /// Makes a Job if its time has come, and says when to look again.
    fn start(&mut self) {
        let given = self.it["spec"]["timeZone"].as_str();
        let Some(zone) = zone(given.unwrap_or(self.sight.zone)) else {
            let name = given.unwrap_or_default();
            self.warn(
                "UnknownTimeZone",
                format!("invalid timeZone: {name:?}: unknown time zone {name}"),
            );
            return;
        };
        if self.it["spec"]["suspend"] == true {
            return;
        }
        let written = text(&self.it["spec"]["schedule"]);
        let schedule = match Schedule::parse(written) {
            Ok(schedule) => schedule,
            Err(why) => {
                let message = format!("unparseable schedule: {written:?} : {why}");
                self.warn("UnparseableSchedule", message);
                return;
            }
        };
        let mut last = self.unix(&self.it["status"]["lastScheduleTime"]);
        if let Some(due) = self.due(&schedule, &zone)
            && last != Some(due)
            && self.may_start(due)
        {
            self.create(due, &zone);
            last = Some(due);
        }
        let from = last.or_else(|| self.unix(&self.it["metadata"]["creationTimestamp"]));
        let now = self.now();
        if let Some(next) = schedule.next_from(from.unwrap_or(now).min(now), now, &zone) {
            self.plan.wake_at(self.time(next) + SKEW);
        }
    }

    /// The last time that has come and wasn't started.
    fn due(&mut self, schedule: &Schedule, zone: &TimeZone) -> Option<i64> {
        let now = self.now();
        let last = self.unix(&self.it["status"]["lastScheduleTime"]);
        let mut from =
            last.or_else(|| self.unix(&self.it["metadata"]["creationTimestamp"])).unwrap_or(now);
        if let Some(secs) = self.it["spec"]["startingDeadlineSeconds"].as_i64() {
            from = from.max(now.saturating_sub(secs));
        }
        let first = schedule.next(from, zone).filter(|first| *first <= now)?;
        let second = schedule.next(first, zone).filter(|second| *second <= now);
        let Some(second) = second else { return Some(first) };
        let between = (second - first).max(1);
        let missed = (now - first) / between + 1;
        if missed > MANY {
            let message = "too many missed start times. Set or decrease \
                           .spec.startingDeadlineSeconds or check clock skew";
            self.warn("TooManyMissedTimes", message.into());
        }
        let mut at = schedule.next(first + (missed - 2) * between, zone)?;
        while let Some(next) = schedule.next(at, zone).filter(|next| *next <= now) {
            at = next;
        }
        (at <= now).then_some(at)
    }

    fn may_start(&mut self, due: i64) -> bool {
        let deadline = self.it["spec"]["startingDeadlineSeconds"].as_i64();
        if deadline.is_some_and(|secs| due.saturating_add(secs) < self.now()) {
            let when = jiff::Timestamp::from_second(due).unwrap_or_default();
            let when = when.strftime("%a, %d %b %Y %H:%M:%S +0000");
            self.warn("MissSchedule", format!("Missed scheduled time to start a job: {when}"));
            return false;
        }
        let active: Vec<Arc<Value>> = self.active().into_iter().cloned().collect();
        match text(&self.it["spec"]["concurrencyPolicy"]) {
            "Forbid" if !active.is_empty() => {
                let message = "Not starting job because prior execution is running and \
                               concurrency policy is Forbid";
                self.note("JobAlreadyActive", message.into());
                false
            }
            "Replace" => {
                active.iter().for_each(|job| self.delete(job));
                true
            }
            _ => true,
        }
    }

    fn create(&mut self, due: i64, zone: &TimeZone) {
        let template = &self.it["spec"]["jobTemplate"];
        let Key { namespace, name } = Key::of(self.it);
        let name = format!("{name}-{}", due.div_euclid(60));
        let when = jiff::Timestamp::from_second(due).unwrap_or_default().to_zoned(zone.clone());
        let shown = match zone.is_unknown() || *zone == TimeZone::UTC {
            true => when.timestamp().to_string(),
            false => when.strftime("%Y-%m-%dT%H:%M:%S%:z").to_string(),
        };
        let mut annotations = match &template["metadata"]["annotations"] {
            Value::Object(given) => Value::Object(given.clone()),
            Value::Null
            | Value::Bool(_)
            | Value::Number(_)
            | Value::String(_)
            | Value::Array(_) => {
                json!({})
            }
        };
        annotations[SCHEDULED] = shown.into();
        let body = json!({
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": {
                "name": name,
                "labels": template["metadata"]["labels"],
                "annotations": annotations,
                "ownerReferences": [owned_by(self.it)],
            },
            "spec": template["spec"],
        });
        let path = format!("/apis/batch/v1/namespaces/{namespace}/jobs");
        let about = Subject::of(self.it);
        let done = about.notes(COMPONENT, "SuccessfulCreate", format!("Created job {name}"));
        let failed = about.warns(COMPONENT, "FailedCreate", "Error creating job: ".into());
        let request = Request::new(USER, Method::Post, path).with_body(body);
        self.plan.send_telling(request, done, failed);
        self.status["lastScheduleTime"] = self.sight.at.stamp_of(self.time(due)).into();
    }

    /// Writes the status, if it differs from what is there.
    fn finish(mut self) -> Plan {
        let active: Vec<Value> = self
            .active()
            .into_iter()
            .map(|job| {
                json!({
                    "apiVersion": "batch/v1", "kind": "Job", "uid": job["metadata"]["uid"],
                    "name": job["metadata"]["name"], "namespace": job["metadata"]["namespace"],
                })
            })
            .collect();
        self.status["active"] = if active.is_empty() { Value::Null } else { active.into() };
        if changed(&self.it["status"], &self.status) {
            let Key { namespace, name } = Key::of(self.it);
            let path = format!("/apis/batch/v1/namespaces/{namespace}/cronjobs/{name}/status");
            self.plan.send(patch(USER, path, json!({"status": self.status})));
        }
        self.plan
    }
}
