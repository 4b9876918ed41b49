//! Strategic merge patches.

use serde_json::Value;

/// Merges `patch` into `object`.
pub(crate) fn merge(object: &mut Value, patch: &Value) -> Result<(), String> {
    json_patch::merge(object, patch);
    Ok(())
}
