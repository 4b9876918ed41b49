//! Opens connections.

use std::{
    future::Future,
    io,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use hyper::Uri;
use tokio::net::{TcpStream, UnixStream};
use tower_service::Service;

use super::{
    address::{Address, Host},
    tls::{Tls, TlsError, TlsFiles},
};
use crate::stream::{Io, Stream};

/// Opens connections to one address.
#[derive(Clone, Debug)]
pub(super) struct Connector(Arc<Target>);

#[derive(Debug)]
struct Target {
    address: Address,
    tls: Option<Tls>,
    limit: Duration,
}

impl Connector {
    pub(super) fn new(address: Address, tls: &TlsFiles, limit: Duration) -> Result<Self, TlsError> {
        let tls = match &address {
            Address::Tls(host) => Some(Tls::new(tls, &host.name)?),
            Address::Tcp(_) | Address::Unix(_) | Address::Memory(_) => None,
        };
        Ok(Self(Arc::new(Target { address, tls, limit })))
    }
}

impl Target {
    async fn open(&self) -> io::Result<Box<dyn Io>> {
        Ok(match &self.address {
            Address::Tcp(host) => Box::new(tcp(host).await?),
            Address::Tls(host) => {
                let Some(tls) = &self.tls else {
                    return Err(io::Error::other("no TLS was set up"));
                };
                Box::new(tls.shake_hands(tcp(host).await?).await?)
            }
            Address::Unix(path) => Box::new(UnixStream::connect(path).await?),
            Address::Memory(dial) => Box::new((dial.0)().await?),
        })
    }
}

async fn tcp(host: &Host) -> io::Result<TcpStream> {
    let stream = TcpStream::connect((host.name.as_str(), host.port)).await?;
    stream.set_nodelay(true)?;
    Ok(stream)
}

impl Service<Uri> for Connector {
    type Response = Stream;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<Stream>> + Send>>;

    fn poll_ready(&mut self, _context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _uri: Uri) -> Self::Future {
        let target = Arc::clone(&self.0);
        Box::pin(async move {
            let opened = tokio::time::timeout(target.limit, target.open()).await;
            let late = || format!("no connection within {} s", target.limit.as_secs_f32());
            let opened = opened.map_err(|_| io::Error::new(io::ErrorKind::TimedOut, late()))??;
            Ok(Stream::new(opened))
        })
    }
}
