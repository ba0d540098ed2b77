//! What was asked of the scripted AWS, and what came of it.

use super::{Call, Fake};
use crate::drain::seam::Ask;

impl Fake {
    /// All calls but receives, each with the milliseconds since the start.
    pub(in crate::drain::tests) fn calls(&self) -> Vec<(u64, Call)> {
        self.0.log.lock().unwrap().iter().filter(|(_, call)| *call != Call::Receive).cloned().collect()
    }

    /// When receives began.
    pub(in crate::drain::tests) fn receives(&self) -> Vec<u64> {
        self.0.log.lock().unwrap().iter().filter(|(_, call)| *call == Call::Receive).map(|(at, _)| *at).collect()
    }

    pub(in crate::drain::tests) fn asks(&self) -> Vec<Ask> {
        self.0.asks.lock().unwrap().clone()
    }

    pub(in crate::drain::tests) fn writes_made(&self) -> Vec<Vec<String>> {
        self.calls()
            .into_iter()
            .filter_map(|(_, call)| if let Call::Write(ids) = call { Some(ids) } else { None })
            .collect()
    }

    pub(in crate::drain::tests) fn deletes_made(&self) -> Vec<Vec<String>> {
        self.calls()
            .into_iter()
            .filter_map(|(_, call)| if let Call::Delete(handles) = call { Some(handles) } else { None })
            .collect()
    }

    /// All handles that deletes were asked for, in order of name.
    pub(in crate::drain::tests) fn deleted(&self) -> Vec<String> {
        let mut all: Vec<String> = self.deletes_made().into_iter().flatten().collect();
        all.sort_unstable();
        all
    }

    /// Handles whose visibility was changed, with the seconds; sorted.
    pub(in crate::drain::tests) fn hidden(&self) -> Vec<(String, u64)> {
        let hides = self
            .calls()
            .into_iter()
            .filter_map(|(_, call)| if let Call::Hide(changes) = call { Some(changes) } else { None });
        let mut all: Vec<_> = hides.flatten().collect();
        all.sort_unstable();
        all
    }

    /// The ids in the table.
    pub(in crate::drain::tests) fn stored(&self) -> Vec<String> {
        self.0.stored.lock().unwrap().keys().cloned().collect()
    }

    pub(in crate::drain::tests) fn stored_at(&self, id: &str) -> u64 {
        self.0.stored.lock().unwrap()[id].0
    }

    pub(in crate::drain::tests) fn body_of(&self, id: &str) -> String {
        self.0.stored.lock().unwrap()[id].1.clone()
    }

    pub(in crate::drain::tests) fn tables_written(&self) -> Vec<String> {
        self.0.tables_written.lock().unwrap().clone()
    }

    pub(in crate::drain::tests) fn gone(&self) -> Vec<String> {
        self.0.gone.lock().unwrap().clone()
    }
}
