//! Memory for pages of records, within `MAX_BUFFERED_BYTES`.
//!
//! A page is whole in memory from its query until its client has taken it, and how soon that is, is for the client to say. So
//! room for what a page takes while it is made is had before the table is asked; what the answer takes is kept until its last
//! byte is on its way or its connection has ended. In a pool a tenant has half of the room at most: one that does not read its
//! answers shuts itself out and nobody else.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::body::Bytes;
use tenancy::problem::Problem;
use tenancy::tenant::{Environment, TenantId};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::events;

/// Bytes a permit stands for.
const BYTES_PER_PERMIT: usize = 1_024;

/// What a page takes while it is made: a query's answer of 1 MB as it comes, in pieces and in one, or its items and their text.
const MAKING: usize = 4 * 1_048_576;

/// How long a request waits for room. Pages are made and taken in milliseconds; what takes longer is a client that does not read.
const WAIT: Duration = Duration::from_secs(1);

/// The room that there is. Cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct Memory(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    all: Arc<Semaphore>,
    /// Permits that one tenant may have.
    share: usize,
    /// Permits that a page takes while it is made.
    making: u32,
    /// The shares of those tenants that have room or wait for it.
    tenants: Mutex<HashMap<TenantId, Arc<Semaphore>>>,
}

/// Room for one page, given back when it is dropped.
#[derive(Debug)]
pub(super) struct Room {
    memory: Arc<Inner>,
    tenant: TenantId,
    of_share: Option<OwnedSemaphorePermit>,
    of_all: Option<OwnedSemaphorePermit>,
}

impl Memory {
    /// So many bytes for the pages of `environment`.
    pub(crate) fn new(bytes: usize, environment: &Environment) -> Self {
        let all = bytes.div_ceil(BYTES_PER_PERMIT).clamp(2, Semaphore::MAX_PERMITS);
        let share = if matches!(environment, Environment::Pool(_)) { all / 2 } else { all };
        let making = u32::try_from(share.min(MAKING / BYTES_PER_PERMIT)).unwrap_or(u32::MAX);
        Self(Arc::new(Inner { all: Arc::new(Semaphore::new(all)), share, making, tenants: Mutex::default() }))
    }

    /// Room to make a page for `tenant`, as soon as there is.
    ///
    /// # Errors
    /// 503 when there is none for a second.
    pub(super) async fn room(&self, tenant: &TenantId) -> Result<Room, Problem> {
        tokio::time::timeout(WAIT, self.wait(tenant)).await.ok().flatten().ok_or_else(|| {
            events::no_room_for_a_page();
            Problem::UNAVAILABLE
        })
    }

    async fn wait(&self, tenant: &TenantId) -> Option<Room> {
        let memory = self.0.clone();
        let share = {
            let mut tenants = memory.lock();
            tenants.entry(tenant.clone()).or_insert_with(|| Arc::new(Semaphore::new(memory.share))).clone()
        };
        // Made before it has anything, so that whoever gives up waiting leaves nothing behind either.
        let mut room = Room { memory, tenant: tenant.clone(), of_share: None, of_all: None };
        let making = room.memory.making;
        room.of_share = Some(share.acquire_many_owned(making).await.ok()?);
        room.of_all = Some(room.memory.all.clone().acquire_many_owned(making).await.ok()?);
        Some(room)
    }
}

impl Inner {
    fn lock(&self) -> MutexGuard<'_, HashMap<TenantId, Arc<Semaphore>>> {
        self.tenants.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Room {
    /// The page's text as the body of an answer, which keeps as much room as it takes and not longer than it lives.
    pub(super) fn hold(mut self, text: Vec<u8>) -> Bytes {
        let permits = text.capacity().div_ceil(BYTES_PER_PERMIT);
        for permit in [&mut self.of_share, &mut self.of_all].into_iter().flatten() {
            drop(permit.split(permit.num_permits().saturating_sub(permits)));
        }
        // Of this kind every part that a connection has yet to write keeps the whole alive.
        Bytes::from_owner(Held { text, _room: self })
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        let mut tenants = self.memory.lock();
        self.of_share = None;
        // Whoever has room of the share, or waits for it, has it from the map under this lock.
        if tenants.get(&self.tenant).is_some_and(|share| Arc::strong_count(share) == 1) {
            tenants.remove(&self.tenant);
        }
    }
}

/// A text and its room.
struct Held {
    text: Vec<u8>,
    _room: Room,
}

impl AsRef<[u8]> for Held {
    fn as_ref(&self) -> &[u8] {
        &self.text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: usize = 1_048_576;

    fn pool() -> Memory {
        Memory::new(16 * MIB, &"pool-1".parse().unwrap())
    }

    fn tenant(id: &str) -> TenantId {
        id.parse().unwrap()
    }

    /// The MiB that are free.
    fn free(memory: &Memory) -> usize {
        memory.0.all.available_permits() * BYTES_PER_PERMIT / MIB
    }

    #[tokio::test(start_paused = true)]
    async fn a_tenant_that_takes_no_answer_has_half_of_a_pool_s_room_and_the_others_the_rest() {
        let memory = pool();
        let mut held = Vec::new();
        while let Ok(room) = memory.room(&tenant("acme")).await {
            held.push(room.hold(Vec::with_capacity(MIB)));
        }
        // The last one would have needed four while it is made, and three are left of eight.
        assert_eq!((held.len(), free(&memory)), (5, 11));
        assert_eq!(memory.room(&tenant("acme")).await.map(drop), Err(Problem::UNAVAILABLE));
        let (one, two) =
            (memory.room(&tenant("globex")).await.unwrap(), memory.room(&tenant("initech")).await.unwrap());
        assert_eq!(free(&memory), 3);
        drop((one, two, held));
        assert_eq!(free(&memory), 16);
    }

    #[tokio::test(start_paused = true)]
    async fn whoever_waits_is_next_when_an_answer_is_taken() {
        let memory = Memory::new(4 * MIB, &"acme".parse().unwrap());
        let answer = memory.room(&tenant("acme")).await.unwrap().hold(vec![0; 2 * MIB]);
        let waiting = tokio::spawn({
            let memory = memory.clone();
            async move { memory.room(&tenant("acme")).await.map(drop) }
        });
        tokio::task::yield_now().await;
        let (rest, mut answer) = (answer.slice(MIB..), answer);
        answer.truncate(MIB);
        drop(answer);
        tokio::task::yield_now().await;
        assert!(!waiting.is_finished(), "a part is not written yet");
        drop(rest);
        assert_eq!(waiting.await.unwrap(), Ok(()));
    }

    #[tokio::test(start_paused = true)]
    async fn a_tenant_is_forgotten_with_its_last_page_and_when_it_gives_up_waiting() {
        let memory = pool();
        let (one, two) = (memory.room(&tenant("acme")).await.unwrap(), memory.room(&tenant("acme")).await.unwrap());
        assert_eq!(memory.room(&tenant("acme")).await.map(drop), Err(Problem::UNAVAILABLE));
        drop(one);
        assert_eq!(memory.0.lock().len(), 1);
        drop(two);
        let (one, two) = (memory.room(&tenant("b")).await.unwrap(), memory.room(&tenant("b")).await.unwrap());
        let (three, four) = (memory.room(&tenant("c")).await.unwrap(), memory.room(&tenant("c")).await.unwrap());
        assert_eq!(memory.room(&tenant("acme")).await.map(drop), Err(Problem::UNAVAILABLE));
        assert_eq!(memory.0.lock().len(), 2);
        drop((one, two, three, four));
        assert_eq!((memory.0.lock().len(), free(&memory)), (0, 16));
    }

    #[tokio::test(start_paused = true)]
    async fn where_there_is_little_room_there_is_one_page_at_a_time() {
        for (bytes, environment) in [(1, "acme"), (1, "pool-1"), (MIB, "acme"), (MIB, "pool-1")] {
            let memory = Memory::new(bytes, &environment.parse().unwrap());
            let answer = memory.room(&tenant("acme")).await.unwrap().hold(vec![0; 3 * MIB]);
            assert_eq!(answer.len(), 3 * MIB);
            drop(answer);
            assert!(memory.room(&tenant("acme")).await.is_ok(), "{bytes} {environment}");
        }
    }
}
