//! How much the Kubernetes side bears: `cargo run --release -p drawbridge-server --example load`
//! makes 5,000 nodes and 50,000 pods over TLS, lists them, and lets 50 clients watch 1,000 writes a
//! second. Give other numbers as `load NODES PODS WATCHERS WRITES-PER-SECOND SECONDS`.
#![allow(clippy::print_stdout, clippy::disallowed_methods, reason = "it measures, and says what")]

use std::{
    error::Error,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use bytes::Bytes;
use drawbridge_server::{Options, Server, Services};
use http_body_util::{BodyExt, Full};
use hyper::{Method, Request, Response, body::Incoming, client::conn::http1::SendRequest};
use hyper_util::rt::TokioIo;
use rustls::{
    ClientConfig, RootCertStore,
    pki_types::{CertificateDer, ServerName, pem::PemObject},
};
use tokio::{net::TcpStream, time};
use tokio_rustls::TlsConnector;

type Result<T> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

/// Connections that write at the same time.
const WRITERS: usize = 8;
const PODS: &str = "/api/v1/namespaces/default/pods";

/// How to reach the server.
#[derive(Clone)]
struct Door {
    address: std::net::SocketAddr,
    tls: TlsConnector,
    bearer: Arc<str>,
}

/// One connection.
struct Client {
    door: Door,
    sender: SendRequest<Full<Bytes>>,
}

impl Door {
    fn of(server: &Server) -> Result<Self> {
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_slice(server.authority().as_bytes())?)?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .with_root_certificates(roots)
            .with_no_client_auth();
        Ok(Self {
            address: server.address(),
            tls: TlsConnector::from(Arc::new(config)),
            bearer: format!("Bearer {}", server.token()).into(),
        })
    }

    async fn open(&self) -> Result<Client> {
        let stream = TcpStream::connect(self.address).await?;
        stream.set_nodelay(true)?;
        let stream = self.tls.connect(ServerName::try_from("localhost")?, stream).await?;
        let (sender, driver) = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await?;
        tokio::spawn(driver);
        Ok(Client { door: self.clone(), sender })
    }
}

impl Client {
    async fn send(
        &mut self,
        method: Method,
        path: &str,
        body: String,
    ) -> Result<Response<Incoming>> {
        let kind = match method {
            Method::PATCH => "application/merge-patch+json",
            _ => "application/json",
        };
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header("host", "localhost")
            .header("authorization", &*self.door.bearer)
            .header("content-type", kind)
            .body(Full::new(Bytes::from(body)))?;
        self.sender.ready().await?;
        let response = self.sender.send_request(request).await?;
        match response.status().is_success() {
            true => Ok(response),
            false => Err(format!("{path}: {}", response.status()).into()),
        }
    }

    /// Sends, reads the answer to its end, and says how long it was.
    async fn ask(&mut self, method: Method, path: &str, body: String) -> Result<usize> {
        let mut answer = self.send(method, path, body).await?.into_body();
        let mut length = 0;
        while let Some(frame) = answer.frame().await {
            length += frame?.data_ref().map_or(0, Bytes::len);
        }
        Ok(length)
    }
}

fn node(number: usize) -> (String, String) {
    let body = format!(
        r#"{{"apiVersion":"v1","kind":"Node","metadata":{{"name":"node-{number:05}","labels":{{"zone":"z{}"}}}},
        "status":{{"capacity":{{"cpu":"64","memory":"256Gi","pods":"110"}},"allocatable":{{"cpu":"64","memory":"256Gi","pods":"110"}}}}}}"#,
        number % 10
    );
    ("/api/v1/nodes".into(), body)
}

fn pod(number: usize) -> (String, String) {
    let body = format!(
        r#"{{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"pod-{number:06}","labels":{{"app":"load"}}}},
        "spec":{{"schedulerName":"nobody","containers":[{{"name":"main","image":"pause",
        "resources":{{"requests":{{"cpu":"1","memory":"1Gi"}}}}}}]}}}}"#
    );
    (PODS.into(), body)
}

/// Makes many objects, over several connections.
async fn fill(door: &Door, count: usize, object: fn(usize) -> (String, String)) -> Result<()> {
    let writers = (0..WRITERS).map(|first| {
        let door = door.clone();
        tokio::spawn(async move {
            let mut client = door.open().await?;
            for number in (first..count).step_by(WRITERS) {
                let (path, body) = object(number);
                client.ask(Method::POST, &path, body).await?;
            }
            Ok(())
        })
    });
    for writer in writers.collect::<Vec<_>>() {
        let done: Result<()> = writer.await?;
        done?;
    }
    Ok(())
}

/// Counts what a watch of all pods tells, line by line.
async fn watch(door: Door, heard: Arc<AtomicUsize>) -> Result<()> {
    let path = format!("{PODS}?watch=true&resourceVersion=0");
    let mut body = door.open().await?.send(Method::GET, &path, String::new()).await?.into_body();
    while let Some(frame) = body.frame().await {
        let frame = frame?;
        let lines =
            frame.data_ref().map_or(0, |data| data.iter().filter(|it| **it == b'\n').count());
        heard.fetch_add(lines, Ordering::Relaxed);
    }
    Ok(())
}

/// Writes at a rate; gives back how long each write took, in order of length.
async fn write(door: &Door, pods: usize, rate: usize, secs: usize) -> Result<Vec<Duration>> {
    let began = time::Instant::now();
    let writers = (0..WRITERS).map(|first| {
        let door = door.clone();
        tokio::spawn(async move {
            let mut client = door.open().await?;
            let mut took = vec![];
            for number in (first..rate * secs).step_by(WRITERS) {
                let due = Duration::from_secs_f64(number as f64 / rate as f64);
                time::sleep_until(began + due).await;
                let path = format!("{PODS}/pod-{:06}", number * 7 % pods);
                let body = format!(r#"{{"metadata":{{"annotations":{{"turn":"{number}"}}}}}}"#);
                client.ask(Method::PATCH, &path, body).await?;
                // From when it was due, so that a writer that fell behind counts as slow.
                took.push((began + due).elapsed());
            }
            Ok(took)
        })
    });
    let mut all = vec![];
    for writer in writers.collect::<Vec<_>>() {
        let took: Result<Vec<Duration>> = writer.await?;
        all.extend(took?);
    }
    all.sort();
    Ok(all)
}

fn memory() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<f64>().ok());
    kib.map_or("memory unknown".into(), |kib| format!("{:.0} MiB resident", kib / 1024.0))
}

fn numbers() -> [usize; 5] {
    let mut numbers = [5_000, 50_000, 50, 1_000, 10];
    for (number, given) in numbers.iter_mut().zip(std::env::args().skip(1)) {
        *number = given.parse().unwrap_or(*number);
    }
    numbers
}

#[tokio::main]
async fn main() -> Result<()> {
    let [nodes, pods, watchers, rate, secs] = numbers();
    let options = Options {
        address: ([127, 0, 0, 1], 0).into(),
        speed: 1.0,
        seed: Some(1),
        kubelets: false,
        scheduler: false,
        without: vec![],
        services: Services::new(),
    };
    let server = Server::start(&options).await?;
    let door = Door::of(&server)?;
    println!("empty: {}", memory());
    made(&door, nodes, pods).await?;
    listed(&door).await?;
    watched(&door, pods, watchers, rate, secs).await?;
    server.stop().await;
    Ok(())
}

async fn made(door: &Door, nodes: usize, pods: usize) -> Result<()> {
    let began = Instant::now();
    fill(door, nodes, node).await?;
    fill(door, pods, pod).await?;
    let took = began.elapsed().as_secs_f64();
    println!(
        "{nodes} nodes and {pods} pods made in {took:.1} s, {:.0} a second; {}",
        (nodes + pods) as f64 / took,
        memory()
    );
    Ok(())
}

async fn listed(door: &Door) -> Result<()> {
    let mut client = door.open().await?;
    for path in [PODS, "/api/v1/nodes"] {
        let began = Instant::now();
        let bytes = client.ask(Method::GET, path, String::new()).await?;
        println!(
            "{path} listed: {:.1} MiB in {:.2} s; {}",
            bytes as f64 / 1024.0 / 1024.0,
            began.elapsed().as_secs_f64(),
            memory()
        );
    }
    Ok(())
}

async fn watched(
    door: &Door,
    pods: usize,
    watchers: usize,
    rate: usize,
    secs: usize,
) -> Result<()> {
    let heard: Vec<Arc<AtomicUsize>> = (0..watchers).map(|_| Arc::default()).collect();
    let tasks: Vec<_> =
        heard.iter().map(|it| tokio::spawn(watch(door.clone(), it.clone()))).collect();
    // A watch from version 0 first tells what is there.
    let wait = async |wanted: usize| {
        while heard.iter().any(|it| it.load(Ordering::Relaxed) < wanted) {
            time::sleep(Duration::from_millis(20)).await;
        }
    };
    let began = Instant::now();
    wait(pods).await;
    println!(
        "{watchers} watchers told of {pods} pods each in {:.1} s; {}",
        began.elapsed().as_secs_f64(),
        memory()
    );
    let began = Instant::now();
    let took = write(door, pods, rate, secs).await?;
    let written = began.elapsed().as_secs_f64();
    wait(pods + took.len()).await;
    let at = |share: f64| took[((took.len() - 1) as f64 * share) as usize].as_secs_f64() * 1e3;
    println!(
        "{} writes in {written:.1} s, {:.0} a second, half within {:.1} ms, 99 % within {:.1} ms; \
         all watchers had all of them {:.2} s after the last; {}",
        took.len(),
        took.len() as f64 / written,
        at(0.5),
        at(0.99),
        began.elapsed().as_secs_f64() - written,
        memory()
    );
    tasks.into_iter().for_each(|task| task.abort());
    Ok(())
}
