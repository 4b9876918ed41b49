//! Nodes that belong together: switches or racks where somebody has written them down.

use drawbridge_scenarios::NodeRow;

use super::scene::Scene;

/// The group of a node that nobody has put anywhere.
const ELSEWHERE: &str = "no switch";

/// What group a node is in.
pub(crate) fn group_of(node: &NodeRow) -> &str {
    node.switch.as_deref().unwrap_or(ELSEWHERE)
}

/// Whether there are groups at all.
pub(crate) fn any(scene: Scene<'_>) -> bool {
    scene.nodes().any(|(_, node)| node.switch.is_some())
}
