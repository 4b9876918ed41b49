//! The text of a dependency, read as slurmctld reads it.

use crate::{JobId, SlurmError, Slurmctld, Span, array::read_tasks};

use super::{Dependency, Kind, Met, Term, Whom};

/// How many jobs are looked at in search of a circle, as `max_depend_depth` has it.
const DEPTH: usize = 10;

const KINDS: [(&str, Kind); 6] = [
    ("afternotok:", Kind::AfterNotOk),
    ("aftercorr:", Kind::AfterCorr),
    ("afterany:", Kind::AfterAny),
    ("afterok:", Kind::AfterOk),
    ("afterburstbuffer:", Kind::AfterBurstBuffer),
    ("after:", Kind::After),
];

impl Slurmctld {
    /// Reads the dependency of job `own`, which may be one that isn't known yet. Empty and `0`
    /// are none.
    pub(crate) fn read_dependency(&self, own: JobId, text: &str) -> Result<Dependency, SlurmError> {
        if text.is_empty() || text == "0" {
            return Ok(Dependency::default());
        }
        let text = spell_out_tasks(text, self.params().max_array_size)?;
        let read = Reader { ctld: self, own, found: Dependency::default() }.read(&text)?;
        if self.comes_back_to(own, &read, &mut 0) {
            return Err(SlurmError::CircularDependency);
        }
        Ok(read)
    }

    /// Whether one of those who are waited for waits, however indirectly, for `own`.
    fn comes_back_to(&self, own: JobId, dependency: &Dependency, looked_at: &mut usize) -> bool {
        *looked_at += 1;
        if DEPTH < *looked_at {
            return false;
        }
        dependency.terms.iter().any(|term| {
            let Some(other) = self.whom(term.whom) else { return false };
            self.is_same(own, other.id, term.whom)
                || (!other.state.is_end() && self.comes_back_to(own, &other.dependency, looked_at))
        })
    }

    /// Whether a job would wait for itself, or a task for its own array.
    fn is_same(&self, own: JobId, other: JobId, whom: Whom) -> bool {
        let array = self.job(own).and_then(|job| job.array.as_ref()).map(|place| place.job);
        match (whom, array) {
            (Whom::Array(theirs), Some(array)) => array == theirs,
            _ => own == other,
        }
    }
}

struct Reader<'a> {
    ctld: &'a Slurmctld,
    own: JobId,
    found: Dependency,
}

impl Reader<'_> {
    fn read(mut self, text: &str) -> Result<Dependency, SlurmError> {
        let mut rest = text;
        loop {
            rest = self.next(rest)?;
            rest = match rest.as_bytes().first() {
                Some(b',') => &rest[1..],
                Some(b'?') => {
                    self.found.any = true;
                    &rest[1..]
                }
                _ => return Ok(self.found),
            };
        }
    }

    /// Reads one kind with its jobs; what follows it.
    fn next<'t>(&mut self, text: &'t str) -> Result<&'t str, SlurmError> {
        if let Some(rest) = strip_word(text, "singleton") {
            let (met, rest) = read_state(rest)?;
            self.push(Kind::Singleton, Whom::Namesakes, Span::ZERO, met);
            let ends = rest.is_empty() || rest.starts_with([',', '?']);
            return ends.then_some(rest).ok_or(SlurmError::Dependency);
        }
        if !text.contains(':') && text.starts_with(|c: char| c.is_ascii_digit()) {
            return self.plain_number(text);
        }
        if strip_word(text, "expand:").is_some() {
            return Err(SlurmError::NotSupported);
        }
        let known = KINDS.iter().find_map(|(word, kind)| Some((*kind, strip_word(text, word)?)));
        let (kind, rest) = known.ok_or(SlurmError::Dependency)?;
        self.jobs(kind, rest)
    }

    /// `12`: the old way to write `afterany:12`.
    fn plain_number<'t>(&mut self, text: &'t str) -> Result<&'t str, SlurmError> {
        let (whom, rest) = self.target(text)?;
        if !rest.is_empty() && !rest.starts_with(',') {
            return Err(SlurmError::Dependency);
        }
        self.push(Kind::AfterAny, whom, Span::ZERO, Met::NotYet);
        Ok(rest)
    }

    /// `12:13_4+5:14_*`. A delay holds for those who follow, too.
    fn jobs<'t>(&mut self, kind: Kind, text: &'t str) -> Result<&'t str, SlurmError> {
        let (mut rest, mut delay) = (text, Span::ZERO);
        loop {
            let (whom, after) = self.target(rest)?;
            if !after.is_empty() && !after.starts_with([',', '?', ':', '+', '(']) {
                return Err(SlurmError::Dependency);
            }
            let asked = matches!(kind, Kind::AfterOk | Kind::AfterNotOk);
            if asked && self.ctld.whom(whom).is_none() {
                // Nobody could tell any more how it ended.
                return Err(SlurmError::Dependency);
            }
            let mut after = after;
            if let Some(minutes) = after.strip_prefix('+') {
                let (number, left) = read_number(minutes).ok_or(SlurmError::Dependency)?;
                if number == 0 {
                    return Err(SlurmError::Dependency);
                }
                (delay, after) = (Span::mins(u64::from(number)), left);
            }
            let (met, after) = read_state(after)?;
            self.push(kind, whom, delay, met);
            match after.strip_prefix(':') {
                Some(more) => rest = more,
                None => return Ok(after),
            }
        }
    }

    /// `12`, `12_4`, `12_*`. The number of an array is the whole array.
    fn target<'t>(&self, text: &'t str) -> Result<(Whom, &'t str), SlurmError> {
        let (number, rest) = read_number(text).ok_or(SlurmError::Dependency)?;
        if number == 0 {
            return Err(SlurmError::Dependency);
        }
        let job = JobId(number);
        let (whom, rest) = match rest.strip_prefix('_') {
            Some(rest) if rest.starts_with('*') => (Whom::Array(job), &rest[1..]),
            Some(rest) => {
                let (task, rest) = read_number(rest).ok_or(SlurmError::Dependency)?;
                (Whom::Task(job, task), rest)
            }
            None if self.ctld.is_array(job) => (Whom::Array(job), rest),
            None => (Whom::Job(job), rest),
        };
        let other = self.ctld.whom(whom);
        let itself = whom == Whom::Job(self.own);
        if itself || other.is_some_and(|other| self.ctld.is_same(self.own, other.id, whom)) {
            return Err(SlurmError::Dependency);
        }
        Ok((whom, rest))
    }

    fn push(&mut self, kind: Kind, whom: Whom, delay: Span, met: Met) {
        let same = |term: &Term| (term.kind, term.whom) == (kind, whom);
        if !self.found.terms.iter().any(same) {
            self.found.terms.push(Term { kind, whom, delay, met });
        }
    }
}

/// `afterok:12_[1-2]` is `afterok:12_1:12_2`.
fn spell_out_tasks(text: &str, max: u32) -> Result<String, SlurmError> {
    let mut spelled = String::new();
    let mut rest = text;
    while let Some((before, list)) = rest.split_once("_[") {
        let (list, after) = list.split_once(']').ok_or(SlurmError::Dependency)?;
        let digits = before.rfind(|c: char| !c.is_ascii_digit()).map_or(0, |at| at + 1);
        let job = &before[digits..];
        let tasks = read_tasks(list, max).filter(|_| !job.is_empty());
        let tasks = tasks.ok_or(SlurmError::Dependency)?;
        let all: Vec<_> = tasks.iter().map(|task| format!("{job}_{task}")).collect();
        spelled.push_str(&before[..digits]);
        spelled.push_str(&all.join(":"));
        rest = after;
    }
    spelled.push_str(rest);
    Ok(spelled)
}

fn strip_word<'t>(text: &'t str, word: &str) -> Option<&'t str> {
    let head = text.get(..word.len())?;
    head.eq_ignore_ascii_case(word).then(|| &text[word.len()..])
}

fn read_number(text: &str) -> Option<(u32, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    Some((text[..end].parse().ok()?, &text[end..]))
}

/// `(failed)` and the like, as scontrol prints them; only a failure is taken over.
fn read_state(text: &str) -> Result<(Met, &str), SlurmError> {
    let Some(inside) = text.strip_prefix('(') else {
        return Ok((Met::NotYet, text));
    };
    let (word, rest) = inside.split_once(')').ok_or(SlurmError::Dependency)?;
    let met = if word.eq_ignore_ascii_case("failed") { Met::Never } else { Met::NotYet };
    Ok((met, rest))
}
