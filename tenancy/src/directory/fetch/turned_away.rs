//! Who was turned away, and how often: a bounded memory of a flood.

use std::collections::HashMap;
use std::hash::{BuildHasher as _, RandomState};

/// Names that are remembered at least; twice as many at most. Enough for the seconds after which a client asks again.
const NAMES: usize = 5_000;

/// How often a name was turned away since it was last asked for. Forgets the names that have been quiet the longest.
#[derive(Debug, Default)]
pub(super) struct TurnedAway {
    young: HashMap<u64, u32>,
    old: HashMap<u64, u32>,
    hasher: RandomState,
}

impl TurnedAway {
    pub(super) fn times(&self, name: &str) -> u32 {
        let key = self.hasher.hash_one(name);
        self.young.get(&key).or_else(|| self.old.get(&key)).copied().unwrap_or_default()
    }

    pub(super) fn once_more(&mut self, name: &str) {
        let times = self.times(name).saturating_add(1);
        self.young.insert(self.hasher.hash_one(name), times);
        if self.young.len() >= NAMES {
            self.old = std::mem::take(&mut self.young);
        }
    }

    pub(super) fn forget(&mut self, name: &str) {
        let key = self.hasher.hash_one(name);
        self.young.remove(&key);
        self.old.remove(&key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_asks_again_is_remembered_through_a_flood_of_others_and_the_memory_is_bounded() {
        let mut turned_away = TurnedAway::default();
        turned_away.once_more("/acme/consumer_sqs");
        for n in 0..4_000 {
            turned_away.once_more(&format!("/x{n}/consumer_sqs"));
        }
        turned_away.once_more("/acme/consumer_sqs");
        assert_eq!(turned_away.times("/acme/consumer_sqs"), 2);
        for n in 4_000..100_000 {
            turned_away.once_more(&format!("/x{n}/consumer_sqs"));
            assert!(turned_away.young.len() + turned_away.old.len() <= 2 * NAMES);
        }
        assert_eq!(turned_away.times("/acme/consumer_sqs"), 0);
        turned_away.forget("/x99999/consumer_sqs");
        assert_eq!(turned_away.times("/x99999/consumer_sqs"), 0);
    }
}
