//! What a path is about: `/apis/apps/v1/namespaces/a/deployments/b/scale`, taken apart.

use super::{
    kinds::{Kind, Kinds},
    status::Refusal,
};

/// A path, taken apart.
#[derive(Clone, Copy)]
pub(crate) struct Target<'a> {
    pub(crate) kind: &'static Kind,
    pub(crate) version: &'a str,
    /// Empty for cluster-wide objects, and for all namespaces together.
    pub(crate) namespace: &'a str,
    /// `None` for the whole collection.
    pub(crate) name: Option<&'a str>,
    pub(crate) subresource: Option<&'a str>,
}

impl<'a> Target<'a> {
    /// Reads a path.
    pub(crate) fn parse(kinds: &Kinds, path: &'a str) -> Result<Self, Refusal> {
        let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
        let (group, version, rest) = match parts.as_slice() {
            ["api", version, rest @ ..] => ("", *version, rest),
            ["apis", group, version, rest @ ..] => (*group, *version, rest),
            _ => return Err(Refusal::unknown_resource()),
        };
        if !kinds.serves(group, version) {
            return Err(Refusal::unknown_resource());
        }
        let (namespace, rest) = scope(rest);
        let (resource, name, subresource) = match *rest {
            [resource] => (resource, None, None),
            [resource, name] => (resource, Some(name), None),
            [resource, name, sub] => (resource, Some(name), Some(sub)),
            _ => return Err(Refusal::unknown_resource()),
        };
        let kind = kinds.find(group, version, resource).ok_or_else(Refusal::unknown_resource)?;
        let cluster_wide_name = kind.namespaced && namespace.is_empty() && name.is_some();
        let stray_namespace = !kind.namespaced && !namespace.is_empty();
        if cluster_wide_name || stray_namespace {
            return Err(Refusal::unknown_resource());
        }
        Ok(Self { kind, version, namespace, name, subresource })
    }

    /// `pods/binding`, `jobs.batch`: as the audit counts it.
    pub(crate) fn audited(&self) -> String {
        match self.subresource {
            Some(sub) => format!("{}/{sub}", self.kind.key),
            None => self.kind.key.to_owned(),
        }
    }
}

/// Splits off `namespaces/a`, unless the namespace itself is what the path is about.
fn scope<'a, 'b>(rest: &'b [&'a str]) -> (&'a str, &'b [&'a str]) {
    match rest {
        ["namespaces", _] | ["namespaces", _, "status" | "finalize"] => ("", rest),
        ["namespaces", namespace, rest @ ..] if !rest.is_empty() => (namespace, rest),
        _ => ("", rest),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_come_apart_into_kind_namespace_name_and_subresource() {
        let table = [
            ("/api/v1/pods", "pods  - -"),
            ("/api/v1/namespaces/a/pods", "pods a - -"),
            ("/api/v1/namespaces/a/pods/b/binding", "pods a b binding"),
            ("/api/v1/namespaces/a", "namespaces  a -"),
            ("/api/v1/namespaces/a/status", "namespaces  a status"),
            ("/apis/apps/v1/namespaces/a/deployments/b/scale", "deployments.apps a b scale"),
            ("/apis/slinky.slurm.net/v1alpha1/nodesets", "nodesets.slinky.slurm.net  - -"),
        ];
        for (path, expected) in table {
            let target = Target::parse(&Kinds::builtin(), path).ok().unwrap();
            let text = format!(
                "{} {} {} {}",
                target.kind.key,
                target.namespace,
                target.name.unwrap_or("-"),
                target.subresource.unwrap_or("-")
            );
            assert_eq!(text, expected, "{path}");
        }
    }

    #[test]
    fn paths_to_nowhere_are_not_found() {
        for path in [
            "/",
            "/api/v2/pods",
            "/api/v1/things",
            "/apis/apps/v1/pods",
            "/api/v1/pods/a",
            "/api/v1/namespaces/a/nodes",
        ] {
            assert_eq!(
                Target::parse(&Kinds::builtin(), path).err().map(|refusal| refusal.code),
                Some(404),
                "{path}"
            );
        }
    }
}
