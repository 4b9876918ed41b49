//! What the client would like to get, from its `Accept` header.

use crate::kube::Refusal;

/// The form of a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// Objects as they are.
    Plain,
    /// A `Table`, with so much of each object beside its row.
    Table(Include),
    /// Metadata alone.
    Partial,
}

/// What lies beside each row of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Include {
    /// Its metadata.
    Metadata,
    /// All of it.
    Object,
    /// Nothing.
    None,
}

/// The first form in an `Accept` header that we can give.
pub(crate) fn form(accept: &str) -> Result<Form, Refusal> {
    if accept.trim().is_empty() {
        return Ok(Form::Plain);
    }
    for choice in accept.split(',') {
        let mut parts = choice.split(';').map(str::trim);
        let media = parts.next().unwrap_or("");
        if !matches!(media, "application/json" | "*/*" | "application/*" | "text/*" | "text/plain")
        {
            continue;
        }
        let parts: Vec<&str> = parts.collect();
        let named = |key: &str| parts.iter().find_map(|part| part.strip_prefix(key));
        // There were betas of tables; nobody needs them who also takes what came of them.
        if named("v=").is_some_and(|version| version != "v1") && named("as=").is_some() {
            continue;
        }
        return Ok(match named("as=") {
            Some("Table") => Form::Table(Include::Metadata),
            Some("PartialObjectMetadata" | "PartialObjectMetadataList") => Form::Partial,
            _ => Form::Plain,
        });
    }
    Err(Refusal::not_acceptable())
}

/// What a query says lies beside each row.
pub(crate) fn include(query: Option<&str>) -> Include {
    match query {
        Some("Object") => Include::Object,
        Some("None") => Include::None,
        _ => Include::Metadata,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_form_that_can_be_given_is_given() {
        let table = [
            ("", Form::Plain),
            ("*/*", Form::Plain),
            (
                "application/json;as=Table;v=v1;g=meta.k8s.io,application/json",
                Form::Table(Include::Metadata),
            ),
            ("application/vnd.kubernetes.protobuf,application/json", Form::Plain),
            ("application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io", Form::Partial),
        ];
        for (accept, wanted) in table {
            assert_eq!(form(accept), Ok(wanted), "{accept}");
        }
        assert_eq!(form("application/cbor").map_err(|refusal| refusal.code), Err(406));
    }
}
