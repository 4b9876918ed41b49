//! The shape of a document, with the place of each part.
//!
//! Its depth is bounded by the parser (255), so walking down by recursion is safe.

use std::collections::BTreeMap;

use granit_parser::{Event, Parser, ScalarStyle, Span};

use super::path::{self, Step};

/// A place: line and column, from 1.
type Place = (usize, usize);

/// One value.
#[derive(Clone, Debug)]
pub(super) struct Node {
    /// Where its key stands, if it is in a mapping.
    pub(super) key: Option<Place>,
    /// Where the value itself begins.
    pub(super) value: Place,
    /// How a text's inner lines lie in the file.
    pub(super) inner: Inner,
    /// What is below, for mappings and lists.
    pub(super) children: BTreeMap<Step, Node>,
    /// What it is.
    kind: Kind,
}

impl Default for Node {
    fn default() -> Self {
        Self::at((1, 1))
    }
}

/// What a value is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A scalar, shortened.
    Scalar(String),
    /// A mapping.
    Mapping,
    /// A list.
    List,
    /// An alias of another value.
    Alias,
}

/// A key or value that begins at some place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Hit {
    /// Its path.
    pub(super) path: String,
    /// What it is; `None` for the key of something.
    pub(super) kind: Option<Kind>,
}

/// How the lines and columns of a scalar's text lie in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Inner {
    /// A `|` block: line 1 of the text is `first_line`, and each is indented by `indent`.
    Block { first_line: usize, indent: usize },
    /// Plain or quoted on one line without escapes: text column 1 is `column`.
    Line { line: usize, column: usize },
    /// Folded, escaped or no text: only the beginning is known.
    Unknown,
}

impl Node {
    /// The first document of a text, as far as it can be parsed.
    pub(super) fn first_of(text: &str) -> Option<Self> {
        let events = Parser::new_from_str(text);
        Reader { text, events }.first_document()
    }

    fn at(value: Place) -> Self {
        let (children, kind) = (BTreeMap::new(), Kind::Alias);
        Self { key: None, value, inner: Inner::Unknown, children, kind }
    }

    /// Moves it and all below down by so many lines.
    pub(super) fn shift(&mut self, lines: usize) {
        self.value.0 += lines;
        if let Some(key) = &mut self.key {
            key.0 += lines;
        }
        match &mut self.inner {
            Inner::Block { first_line: line, .. } | Inner::Line { line, .. } => *line += lines,
            Inner::Unknown => {}
        }
        self.children.values_mut().for_each(|child| child.shift(lines));
    }

    /// Collects what begins exactly at `place`, from the outermost.
    pub(super) fn find(&self, place: Place, steps: &mut Vec<Step>, hits: &mut Vec<Hit>) {
        let mut hit = |kind| {
            let path = path::write(steps);
            hits.push(Hit { path, kind });
        };
        if self.key == Some(place) {
            hit(None);
        }
        if self.value == place {
            hit(Some(self.kind.clone()));
        }
        for (step, child) in &self.children {
            steps.push(step.clone());
            child.find(place, steps, hits);
            steps.pop();
        }
    }
}

/// Builds nodes from the parser's events.
struct Reader<'a, I> {
    text: &'a str,
    events: I,
}

impl<'a, I, E> Reader<'a, I>
where
    I: Iterator<Item = Result<(Event<'a>, Span), E>>,
{
    /// The next event that is part of the data. `None` at the end and at a mistake.
    fn next(&mut self) -> Option<(Event<'a>, Span)> {
        loop {
            match self.events.next()?.ok()? {
                (Event::Comment(..) | Event::Anchor(..), _) => {}
                event => return Some(event),
            }
        }
    }

    fn first_document(&mut self) -> Option<Node> {
        loop {
            let (event, span) = self.next()?;
            if event.is_node() {
                return Some(self.node(&event, span));
            }
        }
    }

    fn node(&mut self, event: &Event<'a>, span: Span) -> Node {
        let mut node = Node::at(place(span));
        if let Event::Scalar(value, style, ..) = event {
            node.inner = self.inner(value, *style, span);
            node.kind = Kind::Scalar(value.chars().take(40).collect());
        } else if matches!(event, Event::MappingStart(..)) {
            node.kind = Kind::Mapping;
            self.mapping(&mut node);
        } else if matches!(event, Event::SequenceStart(..)) {
            node.kind = Kind::List;
            self.list(&mut node);
        }
        node
    }

    fn mapping(&mut self, node: &mut Node) {
        while let Some((event, span)) = self.next() {
            if matches!(event, Event::MappingEnd) {
                return;
            }
            let name = event.scalar().map(|(name, _)| Step::Key(name.to_owned()));
            if name.is_none() {
                // A list or mapping as a key has no path, but its events must be passed by.
                self.node(&event, span);
            }
            let Some((event, value_span)) = self.next() else {
                return;
            };
            let mut child = self.node(&event, value_span);
            child.key = Some(place(span));
            if let Some(name) = name {
                // The first of two equal keys stays: the second is the mistake.
                node.children.entry(name).or_insert(child);
            }
        }
    }

    fn list(&mut self, node: &mut Node) {
        while let Some((event, span)) = self.next() {
            if matches!(event, Event::SequenceEnd) {
                return;
            }
            let child = self.node(&event, span);
            node.children.insert(Step::Index(node.children.len()), child);
        }
    }

    fn inner(&self, value: &str, style: ScalarStyle, span: Span) -> Inner {
        let (line, column) = place(span);
        match style {
            ScalarStyle::Literal => literal(value, line, column),
            ScalarStyle::Plain if span.slice(self.text) == Some(value) => {
                Inner::Line { line, column }
            }
            ScalarStyle::SingleQuoted | ScalarStyle::DoubleQuoted => {
                let source = span.slice(self.text).unwrap_or_default();
                let between = source.get(1..source.len().saturating_sub(1));
                match between == Some(value) && !value.contains('\n') {
                    true => Inner::Line { line, column: column + 1 },
                    false => Inner::Unknown,
                }
            }
            ScalarStyle::Plain | ScalarStyle::Folded => Inner::Unknown,
        }
    }
}

/// The parser gives the first content that isn't blank: blank lines before it belong to the text.
fn literal(value: &str, line: usize, column: usize) -> Inner {
    let blank = value.chars().take_while(|&letter| letter == '\n').count();
    Inner::Block { first_line: line.saturating_sub(blank).max(1), indent: column - 1 }
}

fn place(span: Span) -> Place {
    (span.start.line(), span.start.col() + 1)
}
