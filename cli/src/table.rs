//! Columns that line up; the last one wraps where the terminal ends.

/// A table under construction.
pub(crate) struct Table {
    rows: Vec<Vec<Cell>>,
}

/// Text and the style it is printed in.
#[derive(Clone, Debug)]
pub(crate) struct Cell {
    text: String,
    style: anstyle::Style,
}

impl Cell {
    pub(crate) fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), style: anstyle::Style::new() }
    }

    pub(crate) fn styled(text: impl Into<String>, style: anstyle::Style) -> Self {
        Self { text: text.into(), style }
    }
}

impl Table {
    pub(crate) fn new(header: &[&str]) -> Self {
        let bold = anstyle::Style::new().bold();
        Self { rows: vec![header.iter().map(|name| Cell::styled(*name, bold)).collect()] }
    }

    pub(crate) fn row(&mut self, cells: Vec<Cell>) {
        self.rows.push(cells);
    }

    /// The table as text no wider than `width`, if the last column leaves room for that.
    pub(crate) fn render(&self, width: usize) -> String {
        let n_columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let widths: Vec<usize> = (0..n_columns).map(|column| self.column_width(column)).collect();
        let last = n_columns.saturating_sub(1);
        let indent: usize = widths[..last].iter().map(|width| width + 2).sum();
        let room = width.saturating_sub(indent).max(20);
        let mut text = String::new();
        for row in &self.rows {
            for (cell, width) in row.iter().zip(&widths).take(last) {
                text.push_str(&format!("{0}{1:<2$}{0:#}  ", cell.style, cell.text, width));
            }
            if let Some(cell) = row.get(last) {
                let lines = wrap(&cell.text, room);
                let glue = format!("\n{}", " ".repeat(indent));
                text.push_str(&format!("{0}{1}{0:#}", cell.style, lines.join(&glue)));
            }
            text.truncate(text.trim_end_matches(' ').len());
            text.push('\n');
        }
        text
    }

    fn column_width(&self, column: usize) -> usize {
        let cells = self.rows.iter().filter_map(|row| row.get(column));
        cells.map(|cell| cell.text.chars().count()).max().unwrap_or(0)
    }
}

/// Breaks text between words.
fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let Some(line) = lines.last_mut() else { break };
        let length = line.chars().count();
        if 0 < length && width < length + 1 + word.chars().count() {
            lines.push(word.to_owned());
        } else {
            if 0 < length {
                line.push(' ');
            }
            line.push_str(word);
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_column_wraps_under_itself() {
        let mut table = Table::new(&["name", "why"]);
        table.row(vec![Cell::new("a"), Cell::new("one two three four five six seven")]);
        let plain = anstream::adapter::strip_str(&table.render(26)).to_string();
        insta::assert_snapshot!(plain, @r"
        name  why
        a     one two three four
              five six seven
        ");
    }
}
