//! Admission that the server does itself: the priority of pods, the class of claims.

use serde_json::Value;

use crate::kube::{Call, KubeApi, object, status::Refusal};

const CLASSES: &str = "priorityclasses.scheduling.k8s.io";
const STORAGE_CLASSES: &str = "storageclasses.storage.k8s.io";
const DEFAULT_CLASS: &str = "storageclass.kubernetes.io/is-default-class";

impl KubeApi {
    /// Gives a new pod the number that its PriorityClass stands for.
    pub(crate) fn resolve_priority(
        &self,
        call: &Call<'_>,
        object: &mut Value,
    ) -> Result<(), Refusal> {
        if call.target.kind.key != "pods" {
            return Ok(());
        }
        let named = object::text(object, &["spec", "priorityClassName"]);
        let class = match named {
            "" => self.list(CLASSES).find(|class| class["globalDefault"] == true),
            name => Some(self.get(CLASSES, "", name).ok_or_else(|| {
                let why = format!("no PriorityClass with name {name} was found");
                Refusal::forbidden(call.target.kind, object::name(object), &why)
            })?),
        };
        let value = class.map_or(0, |class| class["value"].as_i64().unwrap_or(0));
        let given = object::at(object, &["spec", "priority"]).and_then(Value::as_i64);
        if let Some(given) = given.filter(|given| *given != value) {
            let why = format!(
                "the integer value of priority ({given}) must not be provided in pod spec; \
                 priority admission controller computed {value} from the given PriorityClass name"
            );
            return Err(Refusal::forbidden(call.target.kind, object::name(object), &why));
        }
        let policy = class.map(|class| object::text(class, &["preemptionPolicy"]).to_owned());
        let name = class.map(|class| object::name(class).to_owned());
        let spec = object::map_mut(object, "spec");
        if let Some(name) = name {
            spec.insert("priorityClassName".into(), name.into());
        }
        spec.insert("priority".into(), value.into());
        let policy = policy.unwrap_or_else(|| "PreemptLowerPriority".into());
        object::default(spec, "preemptionPolicy", policy);
        Ok(())
    }

    /// Gives a claim that names no class the one that is for such claims.
    pub(crate) fn choose_class(&self, call: &Call<'_>, claim: &mut Value) {
        if call.target.kind.key != "persistentvolumeclaims"
            || object::at(claim, &["spec", "storageClassName"]).is_some()
        {
            return;
        }
        let is_default = |class: &&std::sync::Arc<Value>| {
            class["metadata"]["annotations"][DEFAULT_CLASS] == "true"
        };
        // Of several, the newest; of those, the first by name.
        let time =
            |class: &Value| object::text(class, &["metadata", "creationTimestamp"]).to_owned();
        let mut classes: Vec<_> = self.list(STORAGE_CLASSES).filter(is_default).collect();
        classes.sort_by_key(|class| std::cmp::Reverse(time(class)));
        if let Some(class) = classes.first() {
            let name = object::name(class).to_owned();
            object::map_mut(claim, "spec").insert("storageClassName".into(), name.into());
        }
    }
}
