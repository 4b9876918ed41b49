//! One HTTP request to slurmrestd, before anybody sends it.

use serde_json::Value;

/// One HTTP request to slurmrestd, without authentication.
#[derive(Clone, Debug, PartialEq)]
pub struct HttpRequest {
    /// What to do.
    pub method: HttpMethod,
    /// For example `/slurm/v0.0.42/job/7`; names in it are percent-encoded.
    pub path: String,
    /// Query parameters, in order, not yet escaped.
    pub query: Vec<(String, String)>,
    /// JSON to send.
    pub body: Option<Value>,
}

/// The methods that slurmrestd knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HttpMethod {
    /// Read.
    Get,
    /// Create or change.
    Post,
    /// Cancel or signal.
    Delete,
}

impl HttpMethod {
    /// As HTTP writes it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Post => "POST",
            Self::Delete => "DELETE",
        }
    }
}

impl HttpRequest {
    /// Reads.
    pub(crate) fn get(path: String) -> Self {
        Self { method: HttpMethod::Get, path, query: Vec::new(), body: None }
    }

    /// Creates or changes.
    pub(crate) fn post(path: String, body: Value) -> Self {
        Self { method: HttpMethod::Post, body: Some(body), ..Self::get(path) }
    }

    /// Removes, cancels or signals.
    pub(crate) fn delete(path: String) -> Self {
        Self { method: HttpMethod::Delete, ..Self::get(path) }
    }

    /// With a parameter, unless it has no value.
    pub(crate) fn with(mut self, key: &str, value: Option<impl ToString>) -> Self {
        self.query.extend(value.map(|value| (key.to_owned(), value.to_string())));
        self
    }

    /// The path with its query, as the first line of a request has it.
    pub fn target(&self) -> String {
        let pairs =
            self.query.iter().map(|(key, value)| format!("{}={}", escape(key), escape(value)));
        let query: Vec<String> = pairs.collect();
        if query.is_empty() {
            self.path.clone()
        } else {
            format!("{}?{}", self.path, query.join("&"))
        }
    }
}

/// Percent-encodes what can't stand in one segment of a path, or in a parameter.
pub(crate) fn escape(name: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    name.bytes().fold(String::new(), |path, byte| match plain(byte) {
        true => path + char::from(byte).encode_utf8(&mut [0; 4]),
        false => path + &format!("%{byte:02X}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_name_stays_one_segment_of_the_path() {
        assert_eq!(escape("gpu-node_1.x"), "gpu-node_1.x");
        assert_eq!(escape("a/b?c%d é"), "a%2Fb%3Fc%25d%20%C3%A9");
    }

    #[test]
    fn parameters_are_escaped() {
        let request =
            HttpRequest::get("/jobs".into()).with("a b", Some("x&y")).with("c", None::<&str>);
        assert_eq!(request.target(), "/jobs?a%20b=x%26y");
    }
}
