//! The lines of a watch: JSON objects, one after the other, cut anywhere by the network.

use std::sync::Arc;

use bytes::BytesMut;
use drawbridge_core::WatchEvent;
use http_body_util::BodyExt;
use hyper::body::{Body, Bytes};
use serde::Deserialize;
use serde_json::Value;

/// The longest line that is read: no object is larger.
const LONGEST: usize = 64 << 20;

/// A body, line by line.
pub(super) struct Lines<B> {
    body: B,
    read: BytesMut,
    /// So much of what was read has no end of a line in it.
    searched: usize,
}

impl<B: Body<Data = Bytes> + Unpin> Lines<B> {
    pub(super) fn new(body: B) -> Self {
        Self { body, read: BytesMut::new(), searched: 0 }
    }

    /// The next whole line; `None` when the stream has ended, however it did.
    pub(super) async fn next(&mut self) -> Option<Bytes> {
        loop {
            let fresh = self.read[self.searched..].iter().position(|byte| *byte == b'\n');
            if let Some(at) = fresh {
                let line = self.read.split_to(self.searched + at + 1).freeze();
                self.searched = 0;
                return Some(line);
            }
            self.searched = self.read.len();
            if LONGEST < self.read.len() {
                return None;
            }
            let frame = self.body.frame().await?.ok()?;
            if let Ok(data) = frame.into_data() {
                self.read.extend_from_slice(&data);
            }
        }
    }
}

#[derive(Deserialize)]
struct Line {
    #[serde(rename = "type")]
    kind: String,
    object: Value,
}

/// What a line says. One that can't be read ends the watch as a gap would: the list will tell.
pub(super) fn event(line: &[u8]) -> WatchEvent {
    let Ok(Line { kind, object }) = serde_json::from_slice(line) else {
        return WatchEvent::Failed(410);
    };
    match kind.as_str() {
        "ADDED" => WatchEvent::Added(Arc::new(object)),
        "MODIFIED" => WatchEvent::Modified(Arc::new(object)),
        "DELETED" => WatchEvent::Deleted(Arc::new(object)),
        "BOOKMARK" => {
            let version = object["metadata"]["resourceVersion"].as_str().unwrap_or_default();
            WatchEvent::Bookmark(version.to_owned())
        }
        _ => {
            let code = object["code"].as_u64().and_then(|code| u16::try_from(code).ok());
            WatchEvent::Failed(code.unwrap_or(500))
        }
    }
}

#[cfg(test)]
mod tests {
    use http_body_util::{Full, StreamBody};
    use hyper::body::Frame;
    use serde_json::json;

    use super::*;

    #[test]
    fn every_kind_of_line_has_its_event() {
        let of = |text: &str| event(text.as_bytes());
        let pod = json!({ "metadata": { "name": "p" } });
        assert_eq!(
            of(r#"{"type":"ADDED","object":{"metadata":{"name":"p"}}}"#),
            WatchEvent::Added(Arc::new(pod))
        );
        assert_eq!(
            of(r#"{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"12"}}}"#),
            WatchEvent::Bookmark("12".into())
        );
        assert_eq!(
            of(r#"{"type":"ERROR","object":{"kind":"Status","code":410}}"#),
            WatchEvent::Failed(410)
        );
        assert_eq!(of(r#"{"type":"ERROR","object":{}}"#), WatchEvent::Failed(500));
        assert_eq!(of("{\"type\":\"ADD"), WatchEvent::Failed(410));
    }

    #[tokio::test]
    async fn lines_are_whole_wherever_the_network_cuts_them() {
        let text = "{\"a\":1}\n{\"b\":2}\n{\"c\"";
        for cut in 0..text.len() {
            let pieces = [&text[..cut], &text[cut..]];
            let frames = pieces.map(|piece| {
                Ok::<_, std::convert::Infallible>(Frame::data(Bytes::from(piece.to_owned())))
            });
            let mut lines = Lines::new(StreamBody::new(futures::stream::iter(frames)));
            let mut read = vec![];
            while let Some(line) = lines.next().await {
                read.push(line);
            }
            assert_eq!(read, ["{\"a\":1}\n", "{\"b\":2}\n"], "cut at {cut}");
        }
        assert_eq!(Lines::new(Full::new(Bytes::new())).next().await, None);
    }
}
