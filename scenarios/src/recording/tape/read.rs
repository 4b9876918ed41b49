//! Reading a recorded run.

use std::io::{self, Read, Seek, SeekFrom};

use flate2::{Crc, read::DeflateDecoder};
use serde::de::DeserializeOwned;

use super::{BLOCK, Header, INDEX, Index, LARGEST, MAGIC, TapeError, VERSION};
use crate::recording::Chunk;

/// Reads a run, piece by piece.
#[derive(Debug)]
pub struct Reader<R> {
    input: R,
    at: u64,
    header: Header,
    index: Option<Index>,
}

impl<R: Read + Seek> Reader<R> {
    /// Opens a file: reads its header, and its index if it has one.
    pub fn open(mut input: R) -> Result<Self, TapeError> {
        let mut start = [0; MAGIC.len() + 1];
        input.read_exact(&mut start).map_err(|_| TapeError::NoTape)?;
        let [magic @ .., version] = &start;
        if magic != MAGIC {
            return Err(TapeError::NoTape);
        }
        if *version != VERSION {
            return Err(TapeError::Version(*version));
        }
        let at = start.len() as u64;
        let mut reader = Self { input, at, header: Header::default(), index: None };
        let header = reader.part()?.filter(|(tag, _)| *tag == BLOCK);
        let (_, header) = header.ok_or(TapeError::Damaged(at, "it has no header"))?;
        reader.header = decode(&header, at)?;
        reader.index = reader.look_up()?;
        Ok(reader)
    }

    /// What was recorded.
    pub const fn header(&self) -> &Header {
        &self.header
    }

    /// What is where; `None` if whoever wrote it didn't get to the end.
    pub const fn index(&self) -> Option<&Index> {
        self.index.as_ref()
    }

    /// The next piece; `None` at the end.
    pub fn next_chunk(&mut self) -> Result<Option<Chunk>, TapeError> {
        let at = self.at;
        match self.part()? {
            Some((BLOCK, bytes)) => decode(&bytes, at).map(Some),
            Some(_) | None => Ok(None),
        }
    }

    /// Finds the index from the end of the file, and comes back.
    fn look_up(&mut self) -> Result<Option<Index>, TapeError> {
        let back = self.at;
        let end = self.input.seek(SeekFrom::End(0))?;
        let mut trailer = [0; 8 + MAGIC.len()];
        let index = match end.checked_sub(trailer.len() as u64) {
            Some(at) if back <= at => {
                self.input.seek(SeekFrom::Start(at))?;
                self.input.read_exact(&mut trailer)?;
                self.index_at(&trailer)?
            }
            Some(_) | None => None,
        };
        self.go(back)?;
        Ok(index)
    }

    fn index_at(&mut self, trailer: &[u8; 8 + MAGIC.len()]) -> Result<Option<Index>, TapeError> {
        let (place, magic) = trailer.split_at(8);
        let Ok(place) = place.try_into().map(u64::from_le_bytes) else { return Ok(None) };
        if magic != MAGIC {
            return Ok(None);
        }
        self.go(place)?;
        match self.part()? {
            Some((INDEX, bytes)) => decode(&bytes, place).map(Some),
            Some(_) | None => Err(TapeError::Damaged(place, "there is no index here")),
        }
    }

    fn go(&mut self, to: u64) -> io::Result<()> {
        self.at = self.input.seek(SeekFrom::Start(to))?;
        Ok(())
    }

    /// One part: its tag, and what is in it. Without an index a torn end is an end.
    fn part(&mut self) -> Result<Option<(u8, Vec<u8>)>, TapeError> {
        let at = self.at;
        let torn = |index: &Option<Index>| match index {
            Some(_) => Err(TapeError::Damaged(at, "it ends in mid-sentence")),
            None => Ok(None),
        };
        let mut head = [0; 9];
        if self.input.read_exact(&mut head).is_err() {
            return torn(&self.index);
        }
        let [tag, a, b, c, d, crc @ ..] = head;
        let length = u32::from_le_bytes([a, b, c, d]);
        if !matches!(tag, BLOCK | INDEX) || LARGEST < length {
            return Err(TapeError::Damaged(at, "no block begins here"));
        }
        let mut bytes = vec![0; length as usize];
        if self.input.read_exact(&mut bytes).is_err() {
            return torn(&self.index);
        }
        let mut sum = Crc::new();
        sum.update(&bytes);
        if sum.sum() != u32::from_le_bytes(crc) {
            return Err(TapeError::Damaged(at, "the checksum is wrong"));
        }
        self.at += head.len() as u64 + u64::from(length);
        let mut plain = Vec::with_capacity(bytes.len() * 4);
        let inflated = DeflateDecoder::new(bytes.as_slice()).read_to_end(&mut plain);
        inflated.map_err(|_| TapeError::Damaged(at, "it can't be inflated"))?;
        Ok(Some((tag, plain)))
    }
}

fn decode<T: DeserializeOwned>(bytes: &[u8], at: u64) -> Result<T, TapeError> {
    postcard::from_bytes(bytes).map_err(|_| TapeError::Damaged(at, "it isn't what it says"))
}
