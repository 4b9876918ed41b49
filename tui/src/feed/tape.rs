//! A run that was recorded: read in the background, block by block.

use std::io::{Read, Seek};

use drawbridge_scenarios::recording::tape::Reader;

use super::Outbox;
use crate::model::msg::News;

/// Reads all of it, or as much as somebody wants.
pub(super) fn run(mut reader: Reader<impl Read + Seek>, out: &Outbox) {
    if let Some(index) = reader.index() {
        out.tell(News::Length(out.which, index.events, index.now));
    }
    loop {
        let news = match reader.next_chunk() {
            Ok(Some(chunk)) => News::Chunk(out.which, chunk),
            Ok(None) => News::Broken(out.which, "the recording ends here".to_owned()),
            Err(error) => News::Broken(out.which, error.to_string()),
        };
        let goes_on = matches!(&news, News::Chunk(_, chunk) if chunk.ending.is_none());
        if !out.tell(news) || !goes_on {
            return;
        }
    }
}
