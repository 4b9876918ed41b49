//! One watch or log: sends what is new until its time is over, its client is gone or the server stops.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use drawbridge_fakes::Stream;
use tokio::{
    sync::mpsc,
    time::{Instant, MissedTickBehavior, interval_at, sleep_until},
};

use crate::shared::Shared;

/// Batches that may wait for a slow client.
const WAITING: usize = 8;
/// How often a quiet watch says where it stands.
const BOOKMARK: Duration = Duration::from_secs(60);
/// A watch without a timeout lasts this long, as on a real server.
const LONGEST: Duration = Duration::from_secs(1800);

/// Starts a watch; gives back where its bytes come out.
pub(crate) fn start(shared: Arc<Shared>, stream: Stream) -> mpsc::Receiver<Bytes> {
    let (sender, receiver) = mpsc::channel(WAITING);
    tokio::spawn(run(shared, stream, sender));
    receiver
}

async fn run(shared: Arc<Shared>, mut stream: Stream, sender: mpsc::Sender<Bytes>) {
    let asked = stream.timeout_secs().filter(|secs| *secs > 0).map(Duration::from_secs);
    let end = Instant::now() + asked.unwrap_or(LONGEST).min(LONGEST);
    let mut bookmarks = interval_at(Instant::now() + BOOKMARK, BOOKMARK);
    bookmarks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let (mut versions, mut stopped) = (shared.versions(), shared.stopped());
    loop {
        versions.mark_unchanged();
        let (bytes, ended) = shared.frames(&mut stream);
        if !bytes.is_empty() && sender.send(bytes.into()).await.is_err() {
            return;
        }
        if ended {
            return;
        }
        tokio::select! {
            biased;
            () = sender.closed() => return,
            _ = stopped.changed() => return,
            () = sleep_until(end) => break,
            changed = versions.changed() => if changed.is_err() { return },
            _ = bookmarks.tick() => {
                let bytes = shared.bookmark(&mut stream);
                if !bytes.is_empty() && sender.send(bytes.into()).await.is_err() {
                    return;
                }
            }
        }
    }
    let last = shared.bookmark(&mut stream);
    if !last.is_empty() {
        let _ = sender.send(last.into()).await;
    }
}
