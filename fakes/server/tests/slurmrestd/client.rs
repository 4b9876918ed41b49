//! HTTP by hand: what is sent is what stands here, and what comes back is seen as it came.

use std::{
    io::{self, Read, Write},
    net::{Shutdown, SocketAddr, TcpStream},
    time::Duration,
};

use serde_json::Value;

const PATIENCE: Duration = Duration::from_secs(20);

/// An answer.
#[derive(Clone, Debug, Default)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    /// Names in lower case.
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// JSON, or the text.
    pub(crate) fn value(&self) -> Value {
        let text = String::from_utf8_lossy(&self.body);
        serde_json::from_str(&text).unwrap_or_else(|_| Value::String(text.into_owned()))
    }
}

/// One connection.
pub(crate) struct Connection {
    stream: TcpStream,
    /// What came after the last answer.
    rest: Vec<u8>,
}

impl Connection {
    pub(crate) fn open(address: SocketAddr) -> io::Result<Self> {
        let stream = TcpStream::connect(address)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_nodelay(true)?;
        Ok(Self { stream, rest: vec![] })
    }

    pub(crate) fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stream.write_all(bytes)
    }

    /// Nothing more will be sent.
    pub(crate) fn finish(&mut self) -> io::Result<()> {
        self.stream.shutdown(Shutdown::Write)
    }

    /// The next answer, without what `100 Continue` says before it.
    pub(crate) fn receive(&mut self) -> io::Result<Answer> {
        loop {
            let answer = self.receive_any()?;
            if answer.status != 100 {
                return Ok(answer);
            }
        }
    }

    fn receive_any(&mut self) -> io::Result<Answer> {
        let end = self.find(b"\r\n\r\n")?;
        let head: Vec<u8> = self.rest.drain(..end + 4).collect();
        let head = String::from_utf8_lossy(&head).into_owned();
        let mut lines = head.lines();
        let status = lines.next().and_then(|line| line.split(' ').nth(1)?.parse().ok());
        let headers = lines.filter_map(|line| {
            let (name, value) = line.split_once(':')?;
            Some((name.to_ascii_lowercase(), value.trim().to_owned()))
        });
        let mut answer =
            Answer { status: status.unwrap_or(0), headers: headers.collect(), body: vec![] };
        answer.body = self.body(&answer)?;
        Ok(answer)
    }

    fn body(&mut self, answer: &Answer) -> io::Result<Vec<u8>> {
        if answer.header("transfer-encoding") == Some("chunked") {
            return self.chunks();
        }
        let length = answer.header("content-length").and_then(|text| text.parse().ok());
        let bodiless = matches!(answer.status, 100 | 204 | 304);
        match length {
            Some(length) => self.take(length),
            None if bodiless => Ok(vec![]),
            // Until the end.
            None => {
                while self.more()? {}
                Ok(std::mem::take(&mut self.rest))
            }
        }
    }

    fn chunks(&mut self) -> io::Result<Vec<u8>> {
        let mut body = vec![];
        loop {
            let end = self.find(b"\r\n")?;
            let line: Vec<u8> = self.rest.drain(..end + 2).collect();
            let line = String::from_utf8_lossy(&line).trim().to_owned();
            let length = usize::from_str_radix(&line, 16).map_err(io::Error::other)?;
            body.extend(self.take(length)?);
            self.take(2)?;
            if length == 0 {
                return Ok(body);
            }
        }
    }

    fn take(&mut self, length: usize) -> io::Result<Vec<u8>> {
        while self.rest.len() < length {
            if !self.more()? {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
        Ok(self.rest.drain(..length).collect())
    }

    fn find(&mut self, what: &[u8]) -> io::Result<usize> {
        loop {
            let found = self.rest.windows(what.len()).position(|window| window == what);
            match found {
                Some(at) => return Ok(at),
                None if self.more()? => {}
                None => return Err(io::ErrorKind::UnexpectedEof.into()),
            }
        }
    }

    /// Reads more; false at the end.
    fn more(&mut self) -> io::Result<bool> {
        let mut buffer = vec![0; 1 << 16];
        let count = self.stream.read(&mut buffer)?;
        self.rest.extend_from_slice(&buffer[..count]);
        Ok(count != 0)
    }

    /// The status of the first line that comes; 0 if none does.
    pub(crate) fn first_status(&mut self) -> u16 {
        let end = self.find(b"\r\n").unwrap_or(self.rest.len());
        let line = String::from_utf8_lossy(&self.rest[..end]).into_owned();
        line.split(' ').nth(1).and_then(|word| word.parse().ok()).unwrap_or(0)
    }

    /// Whether the other side has ended it; what it said last is passed over.
    pub(crate) fn is_closed(&mut self) -> bool {
        let _ = self.stream.set_read_timeout(Some(Duration::from_secs(3)));
        while let Ok(more) = self.more() {
            if !more {
                return true;
            }
        }
        false
    }
}

/// A request in bytes.
pub(crate) fn request(
    method: &str,
    target: &str,
    headers: &[(String, String)],
    body: &[u8],
) -> Vec<u8> {
    let mut head = format!("{method} {target} HTTP/1.1\r\nHost: localhost\r\n");
    for (name, value) in headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    if !body.is_empty() || method == "POST" {
        head.push_str(&format!("Content-Length: {}\r\n", body.len()));
    }
    head.push_str("\r\n");
    [head.as_bytes(), body].concat()
}
