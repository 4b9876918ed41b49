//! The cluster that all connections share, and what keeps its time going.

use std::{
    sync::{
        Arc, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use drawbridge_fakes::{
    Answer, Attempt, Cluster, HttpRequest, Located, News, ReviewCall, Stream, Texts, User, Webhooks,
};
use drawbridge_sim::Time;
use serde_json::Value;
use tokio::{sync::watch as signal, task::JoinSet};

use crate::{
    host::{Hosted, KubeHost},
    tape::{KubeAsked, KubeTry, Outside},
    webhook::{self, Services},
};

/// The longest that the driver sleeps when nothing is due.
const IDLE: Duration = Duration::from_secs(60);

/// The host of a cluster and who waits for news of it.
pub(crate) struct Shared {
    hosted: Hosted<dyn KubeHost>,
    services: Services,
    texts: Texts,
    version: signal::Sender<u64>,
    stopped: signal::Receiver<bool>,
    /// The number of the last request that may have changed something.
    tries: AtomicU64,
}

impl Shared {
    pub(crate) fn new(
        hosted: Hosted<dyn KubeHost>,
        services: Services,
        stopped: signal::Receiver<bool>,
    ) -> Self {
        let (version, _) = signal::channel(0);
        let (texts, tries) = (Texts::default(), AtomicU64::new(0));
        let shared = Self { hosted, services, texts, version, stopped, tries };
        shared.publish(&*shared.lock());
        shared
    }

    /// The host. A request that panicked has changed it wholly or not at all in what matters.
    fn lock(&self) -> MutexGuard<'_, dyn KubeHost + 'static> {
        self.hosted.host.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn now(&self) -> Time {
        self.hosted.clock.now()
    }

    /// Does something to the cluster that came from outside, tells watches of it, and lets the driver see
    /// what is due.
    pub(crate) fn visit<T>(
        &self,
        what: impl FnOnce() -> Option<Outside>,
        change: impl FnOnce(&mut Cluster, &mut dyn Webhooks, Time) -> T,
    ) -> Option<T> {
        let (mut change, mut done) = (Some(change), None);
        let mut host = self.lock();
        let now = self.now();
        self.hosted.keep(now, what);
        host.visit(now, &mut |cluster, hooks| {
            done = change.take().map(|change| change(cluster, hooks, now));
        });
        self.publish(&*host);
        drop(host);
        self.hosted.poke.notify_one();
        done
    }

    /// Answers a request. While webhooks are asked about it, everybody else goes on.
    pub(crate) async fn answer(&self, request: &HttpRequest) -> Answer {
        let mut attempt = Attempt::default();
        let number = self.tries.fetch_add(1, Ordering::Relaxed);
        let mut kept = KubeAsked::of(request).map(|asked| KubeTry {
            number,
            request: Some(asked),
            answers: vec![],
        });
        loop {
            match self.answer_once(request, &mut attempt, kept.take()) {
                Answer::Waits => {
                    let answers = self.review(&mut attempt).await;
                    kept = Some(KubeTry { number, request: None, answers });
                }
                answer @ (Answer::Reply(_) | Answer::List(_) | Answer::Stream(_)) => return answer,
            }
        }
    }

    fn answer_once(
        &self,
        request: &HttpRequest,
        attempt: &mut Attempt,
        kept: Option<KubeTry>,
    ) -> Answer {
        let what = || kept.map(Outside::Kube);
        let answer =
            self.visit(what, |cluster, hooks, now| cluster.answer(now, request, attempt, hooks));
        answer.expect("a host that is visited lets its visitor in")
    }

    /// Makes all calls that an attempt waits for, at once; what came of each.
    async fn review(&self, attempt: &mut Attempt) -> Vec<(usize, Result<Value, String>)> {
        let mut answers = vec![];
        let waiting: Vec<(usize, ReviewCall)> =
            attempt.waiting().map(|(number, call)| (number, call.clone())).collect();
        let mut calls = JoinSet::new();
        for (number, call) in waiting {
            let to = self.locate(&call);
            calls.spawn(async move { (number, put(to, &call).await) });
        }
        while let Some(done) = calls.join_next().await {
            answers.extend(done);
        }
        for (number, answer) in &answers {
            attempt.answer(*number, answer.clone());
        }
        // A call that panicked has no answer, and nobody may wait for it for ever.
        let lost: Vec<usize> = attempt.waiting().map(|(number, _)| number).collect();
        for number in lost {
            let given_up = Err("the call was given up".to_owned());
            attempt.answer(number, given_up.clone());
            answers.push((number, given_up));
        }
        answers
    }

    fn locate(&self, call: &ReviewCall) -> Result<Located, String> {
        webhook::locate(&self.services, &call.place, |place| {
            self.lock().cluster().api().locate(place)
        })
    }

    /// Whose token this is, if the cluster gave it to a service account.
    pub(crate) fn user_of_token(&self, token: &str) -> Option<User> {
        self.lock().cluster().api().user_of_token(self.now(), token)
    }

    /// What a stream has to say, as bytes, and whether nothing will follow.
    pub(crate) fn frames(&self, stream: &mut Stream) -> (Vec<u8>, bool) {
        let news = stream.collect(self.lock().cluster());
        let ended = news.ended;
        (self.written(stream, news), ended)
    }

    /// The last words of a watch, or what it says when nothing has happened for long.
    pub(crate) fn bookmark(&self, stream: &mut Stream) -> Vec<u8> {
        let news = stream.farewell(self.lock().cluster());
        self.written(stream, news)
    }

    /// Writes news down, with nobody waiting for the cluster.
    fn written(&self, stream: &mut Stream, news: News) -> Vec<u8> {
        if news.is_empty() {
            return vec![];
        }
        stream.write(self.now(), news, &self.texts)
    }

    /// News of writes.
    pub(crate) fn versions(&self) -> signal::Receiver<u64> {
        self.version.subscribe()
    }

    /// News of the end.
    pub(crate) fn stopped(&self) -> signal::Receiver<bool> {
        self.stopped.clone()
    }

    /// Tells watches of what was written.
    fn publish(&self, host: &dyn KubeHost) {
        let version = host.cluster().api().resource_version();
        self.version.send_if_modified(|last| std::mem::replace(last, version) != version);
    }

    /// Lets the cluster do what is due, until the server stops.
    pub(crate) async fn drive(self: Arc<Self>) {
        let mut stopped = self.stopped();
        while !*stopped.borrow() {
            let wait = self.wake();
            tokio::select! {
                biased;
                _ = stopped.changed() => {}
                () = self.hosted.poke.notified() => {}
                () = tokio::time::sleep(wait) => {}
            }
        }
    }

    /// Wakes the host; how long nothing will be due then.
    fn wake(self: &Arc<Self>) -> Duration {
        let (mut host, mut calls) = (self.lock(), vec![]);
        let now = self.now();
        host.wake(now);
        host.visit(now, &mut |cluster, _| calls = cluster.take_calls());
        self.publish(&*host);
        let next = host.next_wake();
        drop(host);
        for (ticket, call) in calls {
            tokio::spawn(self.clone().review_for_controller(ticket, call));
        }
        next.map_or(IDLE, |at| self.hosted.clock.until(at)).min(IDLE)
    }

    /// Calls a webhook for a controller that waits for it.
    async fn review_for_controller(self: Arc<Self>, ticket: (u64, usize), call: ReviewCall) {
        let answer = put(self.locate(&call), &call).await;
        let what = || Some(Outside::Reviewed { ticket, answer: answer.clone() });
        self.visit(what, |cluster, hooks, now| {
            cluster.answered(now, ticket, answer.clone(), hooks);
        });
    }
}

/// Puts a review to a webhook that was found, or not.
async fn put(to: Result<Located, String>, call: &ReviewCall) -> Result<Value, String> {
    webhook::call(to?, call).await
}
