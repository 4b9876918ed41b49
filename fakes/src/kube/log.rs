//! What happened to the objects of one kind, as far back as the window reaches.
//!
//! Full chunks are shared between clones: copying a world with a long history stays cheap.

use std::{collections::VecDeque, sync::Arc};

use serde_json::Value;

use super::store::ChangeKind;

/// One write.
#[derive(Clone)]
pub(crate) struct Entry {
    pub(crate) version: u64,
    pub(crate) kind: ChangeKind,
    pub(crate) object: Arc<Value>,
    pub(crate) previous: Option<Arc<Value>>,
}

const CHUNK: usize = 256;

/// Writes in order of resourceVersion; the oldest fall off.
#[derive(Clone)]
pub(crate) struct Log {
    full: VecDeque<Arc<Vec<Entry>>>,
    open: Vec<Entry>,
    window: usize,
    /// The last version that fell off: a watch from before it can't be served.
    forgotten: u64,
}

impl Log {
    /// An empty log that keeps at least `window` entries.
    pub(crate) fn new(window: usize) -> Self {
        Self { full: VecDeque::new(), open: vec![], window, forgotten: 0 }
    }

    /// The last version that isn't known any more; 0 if all are.
    pub(crate) const fn forgotten(&self) -> u64 {
        self.forgotten
    }

    /// Adds the newest write.
    pub(crate) fn push(&mut self, entry: Entry) {
        self.open.push(entry);
        if self.open.len() < self.chunk() {
            return;
        }
        self.full.push_back(Arc::new(std::mem::take(&mut self.open)));
        while (self.full.len() - 1) * self.chunk() >= self.window {
            let oldest = self.full.pop_front();
            let last = oldest.and_then(|chunk| chunk.last().map(|entry| entry.version));
            self.forgotten = last.unwrap_or(self.forgotten);
        }
    }

    fn chunk(&self) -> usize {
        self.window.clamp(1, CHUNK)
    }

    /// Forgets everything up to this version.
    pub(crate) fn forget(&mut self, version: u64) {
        self.full.clear();
        self.open.clear();
        self.forgotten = version;
    }

    /// The writes after `version`, oldest first.
    pub(crate) fn after(&self, version: u64) -> impl DoubleEndedIterator<Item = &Entry> {
        let old =
            |chunk: &Arc<Vec<Entry>>| chunk.last().is_some_and(|last| last.version <= version);
        let skip = self.full.partition_point(old);
        let chunks = self.full.range(skip..).map(|chunk| chunk.as_slice());
        chunks.chain([self.open.as_slice()]).flat_map(move |chunk| {
            let start = chunk.partition_point(|entry| entry.version <= version);
            &chunk[start..]
        })
    }
}
