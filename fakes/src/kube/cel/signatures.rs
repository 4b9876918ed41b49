//! The functions that there are, with their types: the standard ones, and Kubernetes' libraries.
//!
//! A receiver stands before the dot. `A`, `B` are any types. Whatever isn't here is refused before
//! anything is stored.

use std::{collections::BTreeMap, sync::OnceLock};

use super::types::Type;

/// One way to call a function.
pub(super) struct Signature {
    pub(super) receiver: Option<Type<'static>>,
    pub(super) args: Vec<Type<'static>>,
    pub(super) result: Type<'static>,
}

/// All functions by name.
pub(super) fn all() -> &'static BTreeMap<&'static str, Vec<Signature>> {
    static ALL: OnceLock<BTreeMap<&'static str, Vec<Signature>>> = OnceLock::new();
    ALL.get_or_init(|| {
        let mut all: BTreeMap<&'static str, Vec<Signature>> = BTreeMap::new();
        for line in SIGNATURES.lines().map(str::trim).filter(|line| !line.is_empty()) {
            if let Some((name, signature)) = read(line) {
                all.entry(name).or_default().push(signature);
            }
        }
        all
    })
}

/// Whether `sets.contains` is a function, and not a method of something called `sets`.
pub(super) fn is_qualified(name: &str) -> bool {
    name.contains('.') && all().contains_key(name)
}

fn read(line: &'static str) -> Option<(&'static str, Signature)> {
    let (call, result) = line.rsplit_once(": ")?;
    // The bracket of the arguments is the last that opens outside any other.
    let mut depth = 0;
    let open = call.char_indices().rev().find_map(|(at, letter)| {
        match letter {
            ')' => depth += 1,
            '(' => depth -= 1,
            _ => {}
        }
        (letter == '(' && depth == 0).then_some(at)
    })?;
    let (head, args) = (&call[..open], &call[open + 1..call.len() - 1]);
    let (receiver, name) = match head.split_once("->") {
        Some((receiver, name)) => (Some(Type::written(receiver)), name),
        None => (None, head),
    };
    let args = args.split(';').map(str::trim).filter(|it| !it.is_empty());
    let args = args.map(Type::written).collect();
    Some((name, Signature { receiver, args, result: Type::written(result) }))
}

const SIGNATURES: &str = "
size(string): int
size(bytes): int
size(list(A)): int
size(map(A,B)): int
string->size(): int
bytes->size(): int
list(A)->size(): int
map(A,B)->size(): int
string->contains(string): bool
string->startsWith(string): bool
string->endsWith(string): bool
string->matches(string): bool
matches(string; string): bool
type(A): type
dyn(A): dyn
bool(bool): bool
bool(string): bool
int(int): int
int(uint): int
int(double): int
int(string): int
int(timestamp): int
uint(int): uint
uint(uint): uint
uint(double): uint
uint(string): uint
double(int): double
double(uint): double
double(double): double
double(string): double
string(bool): string
string(int): string
string(uint): string
string(double): string
string(string): string
string(bytes): string
string(timestamp): string
string(duration): string
string(ip): string
string(cidr): string
bytes(string): bytes
bytes(bytes): bytes
timestamp(string): timestamp
timestamp(timestamp): timestamp
timestamp(int): timestamp
duration(string): duration
duration(duration): duration
timestamp->getFullYear(): int
timestamp->getFullYear(string): int
timestamp->getMonth(): int
timestamp->getMonth(string): int
timestamp->getDate(): int
timestamp->getDate(string): int
timestamp->getDayOfMonth(): int
timestamp->getDayOfMonth(string): int
timestamp->getDayOfWeek(): int
timestamp->getDayOfWeek(string): int
timestamp->getDayOfYear(): int
timestamp->getDayOfYear(string): int
timestamp->getHours(): int
timestamp->getHours(string): int
timestamp->getMinutes(): int
timestamp->getMinutes(string): int
timestamp->getSeconds(): int
timestamp->getSeconds(string): int
timestamp->getMilliseconds(): int
timestamp->getMilliseconds(string): int
duration->getHours(): int
duration->getMinutes(): int
duration->getSeconds(): int
duration->getMilliseconds(): int
string->charAt(int): string
string->indexOf(string): int
string->indexOf(string; int): int
string->lastIndexOf(string): int
string->lastIndexOf(string; int): int
string->lowerAscii(): string
string->upperAscii(): string
string->replace(string; string): string
string->replace(string; string; int): string
string->split(string): list(string)
string->split(string; int): list(string)
string->substring(int): string
string->substring(int; int): string
string->trim(): string
list(string)->join(): string
list(string)->join(string): string
strings.quote(string): string
string->format(list(dyn)): string
string->find(string): string
string->findAll(string): list(string)
string->findAll(string; int): list(string)
list(A)->isSorted(): bool
list(A)->sum(): A
list(A)->min(): A
list(A)->max(): A
list(A)->indexOf(A): int
list(A)->lastIndexOf(A): int
list(A)->slice(int; int): list(A)
list(A)->flatten(): list(dyn)
list(A)->flatten(int): list(dyn)
list(A)->distinct(): list(A)
list(A)->reverse(): list(A)
list(A)->sort(): list(A)
list(A)->first(): optional(A)
list(A)->last(): optional(A)
lists.range(int): list(int)
sets.contains(list(A); list(A)): bool
sets.equivalent(list(A); list(A)): bool
sets.intersects(list(A); list(A)): bool
optional.of(A): optional(A)
optional.ofNonZeroValue(A): optional(A)
optional.none(): optional(A)
optional(A)->hasValue(): bool
optional(A)->value(): A
optional(A)->or(optional(A)): optional(A)
optional(A)->orValue(A): A
url(string): url
isURL(string): bool
url->getScheme(): string
url->getHost(): string
url->getHostname(): string
url->getPort(): string
url->getEscapedPath(): string
url->getQuery(): map(string,list(string))
quantity(string): quantity
isQuantity(string): bool
quantity->isInteger(): bool
quantity->asInteger(): int
quantity->asApproximateFloat(): double
quantity->sign(): int
quantity->add(quantity): quantity
quantity->add(int): quantity
quantity->sub(quantity): quantity
quantity->sub(int): quantity
quantity->isLessThan(quantity): bool
quantity->isGreaterThan(quantity): bool
quantity->compareTo(quantity): int
ip(string): ip
isIP(string): bool
ip.isCanonical(string): bool
ip->family(): int
ip->isUnspecified(): bool
ip->isLoopback(): bool
ip->isLinkLocalMulticast(): bool
ip->isLinkLocalUnicast(): bool
ip->isGlobalUnicast(): bool
cidr(string): cidr
isCIDR(string): bool
cidr->containsIP(ip): bool
cidr->containsIP(string): bool
cidr->containsCIDR(cidr): bool
cidr->containsCIDR(string): bool
cidr->ip(): ip
cidr->masked(): cidr
cidr->prefixLength(): int
format.named(string): optional(format)
format.dns1123Label(): format
format.dns1123Subdomain(): format
format.dns1035Label(): format
format.qualifiedName(): format
format.labelValue(): format
format.uri(): format
format.uuid(): format
format.byte(): format
format.date(): format
format.datetime(): format
format->validate(string): optional(list(string))
semver(string): semver
semver(string; bool): semver
isSemver(string): bool
isSemver(string; bool): bool
semver->major(): int
semver->minor(): int
semver->patch(): int
semver->isLessThan(semver): bool
semver->isGreaterThan(semver): bool
semver->compareTo(semver): int
";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_is_a_signature() {
        let lines = SIGNATURES.lines().filter(|line| !line.trim().is_empty()).count();
        let read: usize = all().values().map(Vec::len).sum();
        assert_eq!(read, lines);
        let query = &all()["getQuery"][0];
        assert_eq!(query.receiver, Some(Type::Foreign("url")));
        assert_eq!(query.result.to_string(), "map(string, list(string))");
        assert!(is_qualified("sets.contains") && !is_qualified("ip.family"));
    }
}
