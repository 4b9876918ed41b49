//! A scenario that is played while it is looked at, and may be told differently at any time.

use std::{
    fs::File,
    io::BufWriter,
    sync::{
        Arc,
        mpsc::{Receiver, TryRecvError},
    },
};

use drawbridge_scenarios::{
    Scenario, World,
    format::{self, ScenarioError},
    recording::{
        Chunk, Recorder,
        tape::{Header, Writer},
    },
};
use drawbridge_sim::{JobId, Span, Time};

use super::{Order, Outbox, Play};
use crate::model::{
    deed::Deed,
    explain::{Remedy, Verdict},
    msg::News,
};

/// Records in a piece of a run.
const PIECE: usize = 512;
/// How long something that was tried may take to help: longer than backfill's interval.
const PATIENCE: Span = Span::secs(90);

/// Plays it, and does as it is told, as long as somebody listens.
pub(super) fn run(play: Play, out: &Outbox, orders: &Receiver<Order>) {
    let tape = match tape(&play) {
        Ok(tape) => tape,
        Err(why) => {
            out.tell(News::Done(Err(why)));
            None
        }
    };
    let scenario = Arc::new(play.scenario.clone());
    let recorder = Recorder::new(scenario, play.seed);
    let mut stage = Stage { play, recorder, tape, out };
    // What is there at the beginning is shown before anything happens.
    let mut goes_on = stage.play_on(0);
    loop {
        let order = match goes_on {
            true => match orders.try_recv() {
                Ok(order) => Some(order),
                Err(TryRecvError::Empty) => None,
                Err(TryRecvError::Disconnected) => return,
            },
            false => match orders.recv() {
                Ok(order) => Some(order),
                Err(_) => return,
            },
        };
        match order {
            Some(order) => goes_on |= stage.obey(order),
            None => goes_on = stage.play_on(PIECE),
        }
    }
}

fn tape(play: &Play) -> Result<Option<Writer<BufWriter<File>>>, String> {
    let Some(path) = &play.record else { return Ok(None) };
    let header = Header {
        title: play.scenario.name.clone(),
        why: play.scenario.why.clone(),
        seed: play.seed.0,
    };
    let opened = File::create(path).and_then(|it| Writer::begin(BufWriter::new(it), &header));
    opened.map(Some).map_err(|error| format!("{}: {error}", path.display()))
}

struct Stage<'a> {
    play: Play,
    recorder: Recorder,
    tape: Option<Writer<BufWriter<File>>>,
    out: &'a Outbox,
}

impl Stage<'_> {
    /// Plays so many records on. `false` at the end.
    fn play_on(&mut self, records: usize) -> bool {
        let Some(chunk) = self.recorder.next(|chunk| records <= chunk.records.len()) else {
            return false;
        };
        self.keep(&chunk);
        let is_last = chunk.ending.is_some();
        self.out.tell(News::Chunk(self.out.which, chunk)) && !is_last
    }

    /// Writes it down, where that is asked for.
    fn keep(&mut self, chunk: &Chunk) {
        let Some(tape) = &mut self.tape else { return };
        let mut kept = tape.add(chunk);
        if chunk.ending.is_some()
            && let Some(tape) = self.tape.take()
        {
            kept = kept.and(tape.finish().map(drop));
        }
        if let Err(error) = kept {
            self.tape = None;
            self.out.tell(News::Done(Err(format!("the recording failed: {error}"))));
        }
    }

    /// Does as it is told. Returns whether there is more to play because of it.
    fn obey(&mut self, order: Order) -> bool {
        match order {
            Order::Retell { at, deed, text } => {
                let told = self.deed(at, &deed, &text);
                self.retell(at, told)
            }
            Order::Restore { at, text } => {
                let told = self.parse(&text).map(|scenario| (text, scenario));
                self.retell(at, told)
            }
            Order::Try { job, at, event, remedies, text } => {
                let verdicts = self.try_out(job, at, &remedies, &text);
                self.out.tell(News::Tried(job, event, verdicts));
                false
            }
            Order::Act(_) => false,
        }
    }

    /// The scenario with one more step.
    fn deed(&self, at: Time, deed: &Deed, text: &str) -> Result<(String, Scenario), String> {
        let manifest = match deed {
            Deed::Apply(path) => {
                let read = std::fs::read_to_string(path);
                Some(read.map_err(|error| format!("{}: {error}", path.display()))?)
            }
            Deed::Submit { .. }
            | Deed::Cancel(_)
            | Deed::Priority(..)
            | Deed::Hold(_)
            | Deed::Release(_)
            | Deed::Kill(_)
            | Deed::Drain(..)
            | Deed::Resume(_)
            | Deed::Cordon(..)
            | Deed::Scale(..)
            | Deed::Delete(_)
            | Deed::Crash(_) => None,
        };
        self.with_steps(at, text, &[deed.step(manifest.as_deref())])
    }

    /// What is done happens right after the moment that is shown: everything until then has been.
    fn with_steps(
        &self,
        at: Time,
        text: &str,
        steps: &[String],
    ) -> Result<(String, Scenario), String> {
        let next = at + Span::ms(1);
        let files = self.play.files.as_ref();
        format::retold(&self.play.name, text, files, next, steps).map_err(|it| brief(&it))
    }

    fn parse(&self, text: &str) -> Result<Scenario, String> {
        format::parse(&self.play.name, text, self.play.files.as_ref()).map_err(|it| brief(&it))
    }

    /// Goes on as this has it, from a time on.
    fn retell(&mut self, at: Time, told: Result<(String, Scenario), String>) -> bool {
        let retold = told.and_then(|(text, scenario)| {
            let retold = self.recorder.retold(Arc::new(scenario), at);
            retold.map(|it| (text, it)).ok_or_else(|| "the run hasn't begun yet".to_owned())
        });
        match retold {
            Err(why) => {
                self.out.tell(News::Refused(why));
                false
            }
            Ok((text, (recorder, events))) => {
                self.recorder = recorder;
                // What was recorded is the run as it was; what comes is another.
                if let Some(tape) = self.tape.take() {
                    let _ = tape.finish();
                }
                self.out.tell(News::Retold(events, at, text))
            }
        }
    }

    fn try_out(&self, job: JobId, at: Time, remedies: &[Remedy], text: &str) -> Vec<Verdict> {
        let Some(world) = self.recorder.world_at(at) else { return vec![] };
        let nothing = Remedy { text: "nothing changes".to_owned(), steps: vec![] };
        let all = std::iter::once(&nothing).chain(remedies);
        all.map(|remedy| self.try_one(&world, job, at, remedy, text)).collect()
    }

    fn try_one(&self, world: &World, job: JobId, at: Time, it: &Remedy, text: &str) -> Verdict {
        let told = self.with_steps(at, text, &it.steps);
        let starts_after =
            told.ok().and_then(|(_, scenario)| world.starts_if(&scenario, job, PATIENCE));
        Verdict { text: it.text.clone(), starts_after }
    }
}

/// A mistake in one line: what is wrong, and what would be right.
fn brief(error: &ScenarioError) -> String {
    let hint = error.hint().map(|hint| format!("; {hint}")).unwrap_or_default();
    format!("{error}{hint}")
}
