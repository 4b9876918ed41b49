//! Writing a recorded run.

use std::io::{self, Write};

use flate2::{Compression, Crc, write::DeflateEncoder};
use serde::Serialize;

use super::{BLOCK, Header, INDEX, Index, MAGIC, Place, VERSION};
use crate::recording::Chunk;

/// Records in a block, about.
const BLOCK_RECORDS: usize = 4096;
/// Changes in a block, about: few records may stand for many.
const BLOCK_CHANGES: usize = 16_384;

/// Writes a run, piece by piece.
#[derive(Debug)]
pub struct Writer<W: Write> {
    out: W,
    written: u64,
    index: Index,
    pending: Chunk,
}

impl<W: Write> Writer<W> {
    /// Begins a file.
    pub fn begin(out: W, header: &Header) -> io::Result<Self> {
        let mut writer =
            Self { out, written: 0, index: Index::default(), pending: Chunk::default() };
        writer.put(MAGIC)?;
        writer.put(&[VERSION])?;
        writer.part(BLOCK, header)?;
        Ok(writer)
    }

    /// Adds what happened next.
    pub fn add(&mut self, chunk: &Chunk) -> io::Result<()> {
        self.pending.records.extend(chunk.records.iter().cloned());
        self.pending.changes.extend(chunk.changes.iter().cloned());
        self.pending.now = chunk.now;
        self.pending.ending.clone_from(&chunk.ending);
        let full = BLOCK_RECORDS <= self.pending.records.len()
            || BLOCK_CHANGES <= self.pending.changes.len();
        if full || chunk.ending.is_some() { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> io::Result<()> {
        let chunk = std::mem::take(&mut self.pending);
        let Index { events, now, .. } = self.index;
        self.index.blocks.push(Place { offset: self.written, events, from: now });
        self.index.events += chunk.records.len() as u64;
        self.index.now = chunk.now;
        self.part(BLOCK, &chunk)
    }

    /// Writes what is left, and the index.
    pub fn finish(mut self) -> io::Result<W> {
        if !self.pending.is_empty() {
            self.flush()?;
        }
        let at = self.written;
        let index = std::mem::take(&mut self.index);
        self.part(INDEX, &index)?;
        self.put(&at.to_le_bytes())?;
        self.put(MAGIC)?;
        self.out.flush()?;
        Ok(self.out)
    }

    fn part(&mut self, tag: u8, what: &impl Serialize) -> io::Result<()> {
        let plain = postcard::to_stdvec(what).map_err(io::Error::other)?;
        let mut deflated = DeflateEncoder::new(vec![], Compression::fast());
        deflated.write_all(&plain)?;
        let bytes = deflated.finish()?;
        let mut crc = Crc::new();
        crc.update(&bytes);
        let length = u32::try_from(bytes.len()).map_err(io::Error::other)?;
        self.put(&[tag])?;
        self.put(&length.to_le_bytes())?;
        self.put(&crc.sum().to_le_bytes())?;
        self.put(&bytes)
    }

    fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.written += bytes.len() as u64;
        self.out.write_all(bytes)
    }
}
