//! What a team would run instead, in turns with ours.

use std::io;
use std::time::Duration;

use super::drain::Drain;
use super::post::Post;
use super::{Bench, Part, Subject};

/// Producers: ours, the SDK behind axum, the reference.
pub(super) fn producers(bench: &Bench) -> io::Result<()> {
    let cases = [Post::small(1, 0), Post::small(16, 0), Post::small(64, 0), Post::small(64, 20), Post::small(256, 20)];
    let subjects = [Subject::Producer, Subject::Bare, Subject::ReferenceProducer];
    let subjects: Vec<_> = subjects.into_iter().filter(|subject| bench.can_run(*subject)).collect();
    let cases = if bench.quick { &cases[2..3] } else { &cases[..] };
    for case in cases {
        for run in 1..=bench.rounds {
            for subject in &subjects {
                let found = case.measure(bench, *subject)?;
                bench.keep(Part::PeersProducer, &subject.name(), &case.name(), run, found)?;
            }
        }
    }
    Ok(())
}

/// Consumers: ours, Node with 1, 4 and 8 pollers (and with latency as many as suit it), Bento, the reference.
pub(super) fn consumers(bench: &Bench) -> io::Result<()> {
    for latency_ms in if bench.quick { &[0][..] } else { &[0, 20] } {
        let subjects: &[Subject] = match (bench.quick, latency_ms) {
            (true, _) => &[Subject::Consumer, Subject::Node(8), Subject::Bento(8), Subject::ReferenceConsumer],
            (false, 0) => &[
                Subject::Consumer,
                Subject::Node(1),
                Subject::Node(4),
                Subject::Node(8),
                Subject::Bento(1),
                Subject::Bento(8),
                Subject::ReferenceConsumer,
            ],
            (false, _) => &[
                Subject::Consumer,
                Subject::Node(8),
                Subject::Node(32),
                Subject::Node(64),
                Subject::Bento(8),
                Subject::Bento(32),
                Subject::ReferenceConsumer,
            ],
        };
        let subjects: Vec<_> = subjects.iter().filter(|subject| bench.can_run(**subject)).collect();
        // Ours drains a hundred thousand in less than this; of the others so much is taken as they manage.
        let most = Duration::from_secs(if bench.quick { 3 } else { 5 });
        let case = Drain { messages: 100_000, body_bytes: 100, latency_ms: *latency_ms, most };
        for run in 1..=bench.rounds {
            for subject in &subjects {
                let found = case.measure(bench, **subject)?;
                bench.keep(Part::PeersConsumer, &subject.name(), &case.name(), run, found)?;
            }
        }
    }
    Ok(())
}
