//! Kubernetes' own types: quantities, URLs, addresses, versions, formats.

use std::{cmp::Ordering, net::IpAddr, sync::Arc};

use super::value::{Dict, Val};

/// A value of one of these types.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Foreign {
    /// In billionths.
    Quantity(i128),
    Url(Arc<Url>),
    Ip(IpAddr),
    Cidr(IpAddr, u8),
    Semver(Arc<Semver>),
    Format(&'static str),
}

/// A URL, taken apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Url {
    scheme: String,
    host: String,
    path: String,
    query: String,
}

/// A version by semver.org.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Semver {
    numbers: [u64; 3],
    before: Vec<String>,
}

const BILLION: i128 = 1_000_000_000;

impl Foreign {
    pub(super) fn kind(&self) -> &'static str {
        match self {
            Self::Quantity(_) => "kubernetes.Quantity",
            Self::Url(_) => "kubernetes.URL",
            Self::Ip(_) => "net.IP",
            Self::Cidr(..) => "net.CIDR",
            Self::Semver(_) => "kubernetes.Semver",
            Self::Format(_) => "kubernetes.NamedFormat",
        }
    }

    /// Reads one of these types from text, by the name of its function.
    pub(super) fn parse(function: &str, text: &str, loose: bool) -> Result<Self, String> {
        match function {
            "quantity" => quantity(text).map(Self::Quantity).ok_or_else(|| {
                "quantities must match the regular expression \
                 '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
                    .to_owned()
            }),
            "url" => Url::parse(text)
                .map(|url| Self::Url(Arc::new(url)))
                .ok_or_else(|| format!("URL parse error during conversion from string: {text}")),
            "ip" => ip(text).map(Self::Ip).ok_or_else(|| {
                format!("IP Address \"{text}\" parse error during conversion from string")
            }),
            "cidr" => cidr(text).map(|(ip, length)| Self::Cidr(ip, length)).ok_or_else(|| {
                format!("network address parse error during conversion from string: {text}")
            }),
            _ => Semver::parse(text, loose)
                .map(|it| Self::Semver(Arc::new(it)))
                .ok_or_else(|| format!("No Major.Minor.Patch elements found in \"{text}\"")),
        }
    }

    /// Which of two is greater.
    pub(super) fn compare(&self, other: &Self) -> Option<Ordering> {
        match (self, other) {
            (Self::Quantity(one), Self::Quantity(two)) => Some(one.cmp(two)),
            (Self::Semver(one), Self::Semver(two)) => Some(one.compare(two)),
            _ => None,
        }
    }

    /// How it is written.
    pub(super) fn written(&self) -> String {
        match self {
            Self::Ip(ip) => ip.to_string(),
            Self::Cidr(ip, length) => format!("{ip}/{length}"),
            Self::Quantity(_) | Self::Url(_) | Self::Semver(_) | Self::Format(_) => String::new(),
        }
    }
}

/// A quantity in billionths.
pub(super) fn quantity(text: &str) -> Option<i128> {
    let (negative, body) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let end = body.find(|it: char| !it.is_ascii_digit() && it != '.').unwrap_or(body.len());
    let (number, suffix) = body.split_at(end);
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if whole.is_empty() && fraction.is_empty() || fraction.contains('.') || fraction.len() > 20 {
        return None;
    }
    let digits: i128 = format!("{whole}{fraction}").parse().ok()?;
    let (times, exponent) = scale(suffix)?;
    let exponent = exponent + 9 - i32::try_from(fraction.len()).ok()?;
    let power = 10_i128.checked_pow(exponent.unsigned_abs())?;
    let scaled = digits.checked_mul(times)?;
    let nano = match exponent >= 0 {
        true => scaled.checked_mul(power)?,
        // What is finer than a billionth counts as one.
        false => scaled / power + i128::from(scaled % power != 0),
    };
    Some(if negative { -nano } else { nano })
}

/// What a suffix multiplies by: a number, and a power of ten.
fn scale(suffix: &str) -> Option<(i128, i32)> {
    let exponent = suffix.strip_prefix(['e', 'E']).filter(|it| !it.is_empty());
    if let Some(exponent) = exponent.and_then(|it| it.parse::<i32>().ok()) {
        return Some((1, exponent)).filter(|_| exponent.abs() < 30);
    }
    let binary = ["Ki", "Mi", "Gi", "Ti", "Pi", "Ei"].iter().position(|it| *it == suffix);
    if let Some(place) = binary {
        return Some((1_i128 << (10 * (place + 1)), 0));
    }
    let decimal = [
        ("n", -9),
        ("u", -6),
        ("m", -3),
        ("", 0),
        ("k", 3),
        ("M", 6),
        ("G", 9),
        ("T", 12),
        ("P", 15),
        ("E", 18),
    ];
    decimal.iter().find(|(it, _)| *it == suffix).map(|(_, exponent)| (1, *exponent))
}

impl Url {
    /// An absolute URI, or an absolute path.
    pub(super) fn parse(text: &str) -> Option<Self> {
        if text.contains(|it: char| it.is_control() || it == ' ') {
            return None;
        }
        let text = text.split_once('#').map_or(text, |(front, _)| front);
        let (front, query) = text.split_once('?').unwrap_or((text, ""));
        let query = query.to_owned();
        if front.starts_with('/') && !front.starts_with("//") {
            return Some(Self {
                scheme: String::new(),
                host: String::new(),
                path: front.into(),
                query,
            });
        }
        let (scheme, rest) = front.split_once(':')?;
        let named = scheme.starts_with(|it: char| it.is_ascii_alphabetic())
            && scheme.chars().all(|it| it.is_ascii_alphanumeric() || "+-.".contains(it));
        if !named {
            return None;
        }
        let (host, path) = match rest.strip_prefix("//") {
            Some(rest) => rest.split_at(rest.find('/').unwrap_or(rest.len())),
            None => ("", rest),
        };
        let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
        Some(Self { scheme: scheme.to_lowercase(), host: host.into(), path: path.into(), query })
    }

    /// What one of its functions gives.
    pub(super) fn part<'a>(&self, function: &str) -> Val<'a> {
        let (name, port) = match self.host.rsplit_once(':') {
            Some((name, port)) if !port.ends_with(']') => (name, port),
            _ => (self.host.as_str(), ""),
        };
        match function {
            "getScheme" => Val::text(&*self.scheme),
            "getHost" => Val::text(&*self.host),
            "getHostname" => Val::text(name.trim_matches(['[', ']'])),
            "getPort" => Val::text(port),
            "getEscapedPath" => Val::text(&*self.path),
            _ => Val::Map(Dict::Made(Arc::new(self.queries()))),
        }
    }

    fn queries<'a>(&self) -> Vec<(Val<'a>, Val<'a>)> {
        let mut all: Vec<(String, Vec<Val<'a>>)> = vec![];
        for pair in self.query.split('&').filter(|pair| !pair.is_empty()) {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            let (key, value) = (unescaped(key), Val::text(unescaped(value)));
            match all.iter_mut().find(|(known, _)| *known == key) {
                Some((_, values)) => values.push(value),
                None => all.push((key, vec![value])),
            }
        }
        all.into_iter().map(|(key, values)| (Val::text(key), Val::list(values))).collect()
    }
}

fn unescaped(text: &str) -> String {
    let mut bytes = vec![];
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        let code = (byte == b'%').then(|| {
            let digits: Vec<u8> = rest.clone().take(2).collect();
            u8::from_str_radix(std::str::from_utf8(&digits).ok()?, 16).ok()
        });
        match (code.flatten(), byte) {
            (Some(code), _) => {
                rest.nth(1);
                bytes.push(code);
            }
            (None, b'+') => bytes.push(b' '),
            (None, other) => bytes.push(other),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// An address, without a zone and not one family inside the other.
pub(super) fn ip(text: &str) -> Option<IpAddr> {
    let ip: IpAddr = text.parse().ok()?;
    match ip {
        IpAddr::V6(it) if it.to_ipv4_mapped().is_some() => None,
        ip => Some(ip),
    }
}

/// A network: an address and how many of its bits count.
pub(super) fn cidr(text: &str) -> Option<(IpAddr, u8)> {
    let (address, length) = text.split_once('/')?;
    let (ip, bits): (IpAddr, u8) = (ip(address)?, length.parse().ok()?);
    let most = if ip.is_ipv4() { 32 } else { 128 };
    let plain = length == "0" || !length.starts_with(['0', '+']);
    (bits <= most && plain).then_some((ip, bits))
}

/// The bits of an address that a network of this length looks at.
pub(super) fn masked(ip: IpAddr, length: u8) -> IpAddr {
    match ip {
        IpAddr::V4(it) => {
            let mask = u32::MAX.checked_shl(32 - u32::from(length)).unwrap_or(0);
            IpAddr::V4((it.to_bits() & mask).into())
        }
        IpAddr::V6(it) => {
            let mask = u128::MAX.checked_shl(128 - u32::from(length)).unwrap_or(0);
            IpAddr::V6((it.to_bits() & mask).into())
        }
    }
}

impl Semver {
    fn parse(text: &str, loose: bool) -> Option<Self> {
        let text = if loose { text.strip_prefix('v').unwrap_or(text) } else { text };
        let (text, build) = text.split_once('+').map_or((text, None), |(a, b)| (a, Some(b)));
        let (numbers, before) = text.split_once('-').map_or((text, None), |(a, b)| (a, Some(b)));
        let mut parts: Vec<&str> = numbers.split('.').collect();
        while loose && parts.len() < 3 && before.is_none() {
            parts.push("0");
        }
        let number = |text: &&str| {
            let padded = text.len() > 1 && text.starts_with('0') && !loose;
            let digits = !text.is_empty() && text.bytes().all(|it| it.is_ascii_digit());
            (digits && !padded).then(|| text.parse::<u64>().ok()).flatten()
        };
        let numbers: Vec<u64> = parts.iter().map(number).collect::<Option<_>>()?;
        let words = |text: Option<&str>| -> Option<Vec<String>> {
            let all: Vec<String> =
                text.into_iter().flat_map(|it| it.split('.')).map(Into::into).collect();
            let good = |word: &String| {
                !word.is_empty() && word.bytes().all(|it| it.is_ascii_alphanumeric() || it == b'-')
            };
            all.iter().all(good).then_some(all)
        };
        words(build)?;
        Some(Self { numbers: numbers.try_into().ok()?, before: words(before)? })
    }

    /// Major, minor or patch.
    pub(super) fn number(&self, function: &str) -> i64 {
        let place = ["major", "minor", "patch"].iter().position(|it| *it == function);
        i64::try_from(self.numbers[place.unwrap_or(2)]).unwrap_or(i64::MAX)
    }

    fn compare(&self, other: &Self) -> Ordering {
        let words = |one: &String, two: &String| match (one.parse::<u64>(), two.parse::<u64>()) {
            (Ok(one), Ok(two)) => one.cmp(&two),
            (Ok(_), Err(_)) => Ordering::Less,
            (Err(_), Ok(_)) => Ordering::Greater,
            (Err(_), Err(_)) => one.cmp(two),
        };
        let before = || match (self.before.is_empty(), other.before.is_empty()) {
            (true, true) => Ordering::Equal,
            (true, false) => Ordering::Greater,
            (false, true) => Ordering::Less,
            (false, false) => {
                let pairs = self.before.iter().zip(&other.before);
                let first = pairs.map(|(a, b)| words(a, b)).find(|it| it.is_ne());
                first.unwrap_or_else(|| self.before.len().cmp(&other.before.len()))
            }
        };
        self.numbers.cmp(&other.numbers).then_with(before)
    }
}

impl Foreign {
    /// A quantity as a whole number, if it is one.
    pub(super) fn whole(&self) -> Option<i64> {
        match self {
            Self::Quantity(nano) if nano % BILLION == 0 => i64::try_from(nano / BILLION).ok(),
            _ => None,
        }
    }

    /// So many whole units.
    pub(super) fn units(units: i64) -> i128 {
        i128::from(units) * BILLION
    }
}
