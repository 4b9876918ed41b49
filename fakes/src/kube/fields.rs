//! Fields that a kind doesn't have: dropped, and told of or refused as the client wishes.

use serde_json::Value;

use super::{Call, KubeApi, definition::prune, schemas, status::Refusal};

impl KubeApi {
    /// Drops unknown fields. Only programs from outside are looked at: what the twin's own parts
    /// write is known.
    pub(crate) fn check_fields(
        &mut self,
        call: &Call<'_>,
        object: &mut Value,
    ) -> Result<(), Refusal> {
        if call.request.agent.is_empty() {
            return Ok(());
        }
        let kind = call.target.kind;
        let deprecated = kind.definition.and_then(|it| it.warning(call.target.version));
        self.warnings.extend(deprecated.map(Into::into));
        let unknown = match (kind.schema(call.target.version), kind.custom) {
            (Some(known), _) => prune::object(known, object),
            (None, true) => vec![],
            (None, false) => {
                let name = schemas::name(kind.group, call.target.version, kind.kind);
                name.map(|name| schemas::prune(name, object)).unwrap_or_default()
            }
        };
        if unknown.is_empty() {
            return Ok(());
        }
        let texts: Vec<String> =
            unknown.iter().map(|path| format!("unknown field \"{path}\"")).collect();
        match call.request.query("fieldValidation").unwrap_or("Warn") {
            "Strict" => {
                let why = format!("strict decoding error: {}", texts.join(", "));
                Err(Refusal::undecodable(kind, call.target.version, &why))
            }
            "Ignore" => Ok(()),
            _ => {
                self.warnings.extend(texts);
                Ok(())
            }
        }
    }
}
