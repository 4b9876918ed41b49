//! Where each key and value of a YAML text stands.

use super::{
    path,
    tree::{Hit, Inner, Node},
};

/// Knows the place of every key and value of one document.
#[derive(Clone, Debug, Default)]
pub struct Locator {
    root: Node,
}

impl Locator {
    /// Looks at the first document of a text. What can't be parsed has no places.
    pub fn new(text: &str) -> Self {
        let root = Node::first_of(text).unwrap_or_default();
        Self { root }
    }

    /// The same places for a text that begins on this line of a larger file.
    #[must_use]
    pub fn below(mut self, first_line: usize) -> Self {
        self.root.shift(first_line.saturating_sub(1));
        self
    }

    /// Where the value at `path` begins. `""` is the document.
    pub fn locate(&self, path: &str) -> Option<(usize, usize)> {
        self.node(path).map(|node| node.value)
    }

    /// Where the key of the value at `path` stands; an item of a list has none.
    pub fn locate_key(&self, path: &str) -> Option<(usize, usize)> {
        self.node(path).and_then(|node| node.key)
    }

    /// Where `path` is, or the closest thing above it that is in the file: for what is missing, or
    /// came from an alias. Of a mapping or list the key's place is given, if it has one.
    pub fn nearest(&self, path: &str) -> (usize, usize) {
        let mut node = &self.root;
        for step in path::read(path).unwrap_or_default() {
            match node.children.get(&step) {
                Some(child) => node = child,
                None => return node.key.unwrap_or(node.value),
            }
        }
        match node.children.is_empty() {
            true => node.value,
            false => node.key.unwrap_or(node.value),
        }
    }

    /// Where line `line` and column `column` of the *text at* `path` stand in the file.
    ///
    /// Exact for `|` blocks and for plain and quoted texts on one line. In folded or escaped texts
    /// only the beginning is known, and that is given.
    pub fn inside(&self, path: &str, line: usize, column: usize) -> (usize, usize) {
        let Some(node) = self.node(path) else {
            return self.nearest(path);
        };
        match node.inner {
            Inner::Block { first_line, indent } => {
                (first_line + line.max(1) - 1, indent + column.max(1))
            }
            Inner::Line { line: at, column: first } if line <= 1 => (at, first + column.max(1) - 1),
            Inner::Line { .. } | Inner::Unknown => node.value,
        }
    }

    /// The first line and the indentation (in characters) of a `|` block's content.
    pub fn block(&self, path: &str) -> Option<(usize, usize)> {
        match self.node(path)?.inner {
            Inner::Block { first_line, indent } => Some((first_line, indent)),
            Inner::Line { .. } | Inner::Unknown => None,
        }
    }

    /// The keys and values that begin exactly here, from the outermost.
    pub(super) fn at(&self, place: (usize, usize)) -> Vec<Hit> {
        let mut hits = Vec::new();
        self.root.find(place, &mut Vec::new(), &mut hits);
        hits
    }

    fn node(&self, path: &str) -> Option<&Node> {
        let steps = path::read(path)?;
        steps.iter().try_fold(&self.root, |node, step| node.children.get(step))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
why: one sentence
slurm:
  conf: |

    NodeName=a CPUs=1
      # deeper
    Partition=x
steps:
- at: 0s
  sbatch: \"-N2 --exclusive\"
- at: 1s
  scale: {kind: Job, to: 3}
  note: it
    goes on
kubernetes:
  nodes:
  - labels:
      a.b/c: x
    capacity: &big
      cpu: 4
  - capacity: *big
  - escaped: \"a\\tb\"
  - folded: >
      x
      y
";

    #[test]
    fn keys_and_values_have_places() {
        let locator = Locator::new(TEXT);
        let table = [
            ("", Some((1, 1)), None),
            ("why", Some((1, 6)), Some((1, 1))),
            ("slurm", Some((3, 3)), Some((2, 1))),
            ("steps[0]", Some((9, 3)), None),
            ("steps[0].sbatch", Some((10, 11)), Some((10, 3))),
            ("steps[1].scale.to", Some((12, 26)), Some((12, 22))),
            ("kubernetes.nodes[0].labels[\"a.b/c\"]", Some((18, 14)), Some((18, 7))),
            ("kubernetes.nodes[0].capacity.cpu", Some((20, 12)), Some((20, 7))),
            ("kubernetes.nodes[1].capacity.cpu", None, None),
            ("steps[2]", None, None),
            ("not a [path", None, None),
        ];
        for (path, value, key) in table {
            assert_eq!((locator.locate(path), locator.locate_key(path)), (value, key), "{path}");
        }
    }

    #[test]
    fn what_is_missing_has_the_place_of_what_is_nearest() {
        let locator = Locator::new(TEXT);
        assert_eq!(locator.nearest("steps[0].at.x"), (9, 3));
        assert_eq!(locator.nearest("steps[0].nope"), (9, 3));
        assert_eq!(locator.nearest("slurm.release"), (2, 1));
        assert_eq!(locator.nearest("kubernetes.nodes[1].capacity.cpu"), (21, 5));
        assert_eq!(locator.nearest("nope"), (1, 1));
    }

    #[test]
    fn a_place_inside_a_text_is_a_place_in_the_file() {
        let locator = Locator::new(TEXT);
        let table = [
            ("slurm.conf", 2, 12, (5, 16)),
            ("slurm.conf", 3, 3, (6, 7)),
            ("slurm.conf", 4, 1, (7, 5)),
            ("steps[0].sbatch", 1, 5, (10, 16)),
            ("why", 1, 5, (1, 10)),
            ("steps[1].note", 1, 2, (13, 9)),
            ("kubernetes.nodes[2].escaped", 1, 3, (22, 14)),
            ("kubernetes.nodes[3].folded", 1, 3, (24, 7)),
        ];
        for (path, line, column, outer) in table {
            assert_eq!(locator.inside(path, line, column), outer, "{path} {line}:{column}");
        }
        assert_eq!(locator.block("slurm.conf"), Some((4, 4)));
        assert_eq!(locator.block("why"), None);
    }

    #[test]
    fn a_text_lower_down_in_a_file_keeps_its_columns() {
        let locator = Locator::new("a: |\n  x\nb: 1\n").below(11);
        assert_eq!(locator.locate("b"), Some((13, 4)));
        assert_eq!(locator.inside("a", 1, 1), (12, 3));
    }

    #[test]
    fn a_place_leads_back_to_what_begins_there() {
        let locator = Locator::new(TEXT);
        let at = |place| -> Vec<String> {
            let hits = locator.at(place).into_iter();
            hits.map(|hit| format!("{} {:?}", hit.path, hit.kind)).collect()
        };
        assert_eq!(at((12, 26)), ["steps[1].scale.to Some(Scalar(\"3\"))"]);
        let first = ["steps Some(List)", "steps[0] Some(Mapping)", "steps[0].at None"];
        assert_eq!(at((9, 3)), first);
        assert_eq!(at((99, 1)), [""; 0]);
    }

    #[test]
    fn a_broken_text_has_no_places_but_no_trouble_either() {
        let locator = Locator::new("a: [1, {b: 'x");
        assert_eq!(locator.locate("b"), None);
        assert_eq!(locator.nearest("b"), (1, 1));
    }
}
