//! A connection, whatever it goes over: TCP, TLS, a Unix socket, or a pipe in this process.

use std::{
    fmt, io,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_util::{
    client::legacy::connect::{Connected, Connection},
    rt::TokioIo,
};
use tokio::io::{AsyncRead, AsyncWrite, DuplexStream};

/// Opens a connection to a server in this process: one end of a pipe, of which somebody serves the
/// other. No socket is involved, so time may stand still.
#[derive(Clone)]
pub struct Dial(pub Arc<dyn Fn() -> Dialling + Send + Sync>);

/// A connection that is being made, or refused.
pub type Dialling = Pin<Box<dyn Future<Output = io::Result<DuplexStream>> + Send>>;

impl Dial {
    /// Connections that are always made.
    pub fn always(connect: impl Fn() -> DuplexStream + Send + Sync + 'static) -> Self {
        Self(Arc::new(move || Box::pin(std::future::ready(Ok(connect())))))
    }
}

impl fmt::Debug for Dial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Dial")
    }
}

/// What bytes go over.
pub(crate) trait Io: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Io for T {}

/// An open connection.
pub(crate) struct Stream(TokioIo<Box<dyn Io>>);

impl Stream {
    pub(crate) fn new(io: Box<dyn Io>) -> Self {
        Self(TokioIo::new(io))
    }
}

impl Connection for Stream {
    fn connected(&self) -> Connected {
        Connected::new()
    }
}

impl Read for Stream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(context, buffer)
    }
}

impl Write for Stream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(context)
    }
}
