//! The screens, the updates and what is always true, over a small run made by hand, and over runs
//! of the library.

mod always;
mod cluster;
mod diffs;
mod explains;
mod habits;
mod recorded;
mod screens;
mod sessions;
mod updates;

use cluster::Cluster;
use drawbridge_scenarios::recording::Chunk;
use ratatui::buffer::Buffer;

use crate::{
    export,
    model::{
        Model,
        msg::{Msg, News, Stride},
        reel::{Origin, Reel},
    },
    theme::ThemeName,
};

/// A model that knows all of this run.
fn model_of(chunk: Chunk) -> Model {
    let origin = Origin::Twin("why: a\n".to_owned());
    let reel = Reel::new("ring_waits".to_owned(), "A gang waits.".to_owned(), origin);
    let mut model = Model::new(reel, vec![], ThemeName::Terminal);
    model.update(Msg::News(News::Chunk(0, chunk)));
    model
}

/// The model after these messages.
fn after(msgs: &[Msg]) -> Model {
    let mut model = model_of(Cluster::chunk());
    for msg in msgs {
        model.update(msg.clone());
    }
    model
}

/// So many events on.
const fn events(n: u64) -> Msg {
    Msg::Step(Stride::Events(n.cast_signed()))
}

/// The screen as cells with their styles.
fn picture(model: &Model, (width, height): (u16, u16)) -> Buffer {
    let mut model = model.clone();
    model.update(Msg::Resize(width, height));
    export::picture(&model)
}

/// The text screen after these messages.
fn screen(size: (u16, u16), msgs: &[Msg]) -> String {
    export::text(&picture(&after(msgs), size))
}
