//! What is true whatever is pressed and however large the terminal is.

use drawbridge_sim::Span;
use proptest::prelude::{Just, Strategy, any, prop_oneof, proptest};
use proptest::{collection::vec, prop_assert};

use super::{after, buffer, cluster::Cluster};
use crate::{
    Source,
    model::{Model, Msg, Question, Tab},
    theme::Theme,
};

fn any_msg() -> impl Strategy<Value = Msg> {
    prop_oneof![
        proptest::sample::select(vec![
            Msg::Help,
            Msg::NextTab,
            Msg::PreviousTab,
            Msg::First,
            Msg::Last,
            Msg::Start,
            Msg::End,
            Msg::Play,
            Msg::Faster,
            Msg::Slower,
            Msg::Why,
            Msg::Focus,
            Msg::All,
            Msg::Back,
            Msg::Ask(Question::Filter),
            Msg::Ask(Question::Time),
            Msg::Erase,
            Msg::EraseAll,
            Msg::Accept,
            Msg::Quit,
            Msg::NextMoment,
            Msg::PreviousMoment,
        ]),
        proptest::sample::select(Tab::ALL.to_vec()).prop_map(Msg::Tab),
        prop_oneof![-3_isize..=3, any::<isize>()].prop_map(Msg::Move),
        prop_oneof![-9_i64..=9, any::<i64>()].prop_map(Msg::Step),
        prop_oneof![0_u64..5000, any::<u64>()].prop_map(|ms| Msg::Tick(Span::ms(ms))),
        any::<i16>().prop_map(Msg::Scroll),
        proptest::sample::select("0159:.-+hmsring模\u{301}".chars().collect::<Vec<_>>())
            .prop_map(Msg::Type),
    ]
}

fn in_range(source: &dyn Source, model: &Model) -> bool {
    let head = &model.playhead;
    let frame = source.frame(head.event);
    head.event <= source.len()
        && head.now <= head.end
        && frame.now <= head.now
        && frame == model.frame
        && model.list().at < model.rows.len().max(1)
        && model.explanation.iter().flat_map(|it| &it.chain).all(|&i| (i as u64) < head.event)
}

proptest! {
    #[test]
    fn no_message_leads_out_of_range(msgs in vec(any_msg(), 0..60)) {
        let source = Cluster::new();
        let mut model = after(&source, &[]);
        for msg in msgs {
            model.update(&source, msg);
            prop_assert!(in_range(&source, &model), "after {msg:?}: {:?}", model.playhead);
        }
    }

    #[test]
    fn every_state_can_be_drawn_at_every_size(
        msgs in vec(any_msg(), 0..20),
        size in prop_oneof![(0_u16..200, 0_u16..70), (Just(80), Just(24))],
    ) {
        let source = Cluster::new();
        let model = after(&source, &msgs);
        buffer(&source, &model, Theme::new(true), size);
    }
}

/// Nothing happens in it.
struct Nothing(Cluster);

impl Source for Nothing {
    fn len(&self) -> u64 {
        0
    }

    fn frame(&self, _: u64) -> drawbridge_scenarios::Frame {
        drawbridge_scenarios::Frame { nodes: Vec::new(), ..self.0.frame(0) }
    }

    fn records(&self) -> &[drawbridge_scenarios::Record] {
        &[]
    }

    fn event_at(&self, _: drawbridge_sim::Time) -> u64 {
        0
    }
}

proptest! {
    #[test]
    fn a_run_without_events_is_shown_as_well(msgs in vec(any_msg(), 0..30)) {
        let source = Nothing(Cluster::new());
        assert!(source.is_empty());
        let model = after(&source, &msgs);
        buffer(&source, &model, Theme::new(true), (80, 24));
    }
}
