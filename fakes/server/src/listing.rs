//! A long list: written piece by piece, as fast as its reader reads.

use bytes::Bytes;
use drawbridge_fakes::Listing;
use tokio::{sync::mpsc, task};

/// Pieces that may wait for a slow client.
const WAITING: usize = 2;

/// Starts to write a list; gives back where its bytes come out.
pub(crate) fn start(mut listing: Listing) -> mpsc::Receiver<Bytes> {
    let (sender, receiver) = mpsc::channel(WAITING);
    tokio::spawn(async move {
        loop {
            // Writing takes a while, in which this thread can do nothing else.
            let Some(piece) = task::block_in_place(|| listing.next_piece()) else { return };
            if sender.send(piece.into()).await.is_err() {
                return;
            }
        }
    });
    receiver
}
