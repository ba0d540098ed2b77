//! The calls: each is written down before anything is said about it, since draining survives a panic of a call and goes on as
//! if it had not been made.

use std::sync::Arc;
use std::time::Duration;

use aws_sdk_sqs::types::Message;
use tenancy::arn::{QueueArn, TableArn};
use tenancy::directory::LookupError;
use tokio::time::{Instant, sleep, timeout};

use super::{Call, Fake};
use crate::drain::seam::{Ask, Aws, FailedEntry, Failure};
use crate::record::Record;

impl Aws for Fake {
    async fn queue(&self) -> Result<Arc<QueueArn>, LookupError> {
        let takes = self.script().lookup;
        sleep(takes).await;
        self.script().queue.clone().map(|arn| Arc::new(arn.parse().unwrap()))
    }

    async fn table(&self) -> Result<Arc<TableArn>, LookupError> {
        self.script().table.clone().map(|arn| Arc::new(arn.parse().unwrap()))
    }

    fn queue_is_gone(&self, queue: &QueueArn) {
        self.0.gone.lock().unwrap().push(queue.name().to_owned());
    }

    fn table_is_gone(&self, table: &TableArn) {
        self.0.gone.lock().unwrap().push(table.name().to_owned());
    }

    async fn receive(&self, _: Arc<QueueArn>, ask: Ask) -> Result<Vec<Message>, Failure> {
        let number = self.note("receive", Call::Receive);
        assert_ne!(self.script().broken_receive, Some(number), "a bug of ours");
        self.0.asks.lock().unwrap().push(ask);
        let deadline = Instant::now() + self.script().idle.unwrap_or(ask.wait);
        loop {
            let next = self.script().receives.pop_front();
            if let Some((after, answer)) = next {
                sleep(after).await;
                return answer;
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if timeout(left, self.0.arrived.notified()).await.is_err() {
                return Ok(Vec::new());
            }
        }
    }

    async fn delete(&self, _: Arc<QueueArn>, handles: Vec<String>) -> Result<Vec<FailedEntry>, Failure> {
        let number = self.note("delete", Call::Delete(handles.clone()));
        assert!((1..=10).contains(&handles.len()), "1 to 10 entries, not {}", handles.len());
        let (after, answer) = (self.script().delete)(number, &handles);
        sleep(after).await;
        answer
    }

    async fn change_visibility(
        &self,
        _: Arc<QueueArn>,
        changes: Vec<(String, Duration)>,
    ) -> Result<Vec<FailedEntry>, Failure> {
        let changes: Vec<_> = changes.into_iter().map(|(handle, hidden)| (handle, hidden.as_secs())).collect();
        let number = self.note("hide", Call::Hide(changes.clone()));
        assert!((1..=10).contains(&changes.len()), "1 to 10 entries, not {}", changes.len());
        let (after, answer) = (self.script().hide)(number, &changes);
        sleep(after).await;
        answer
    }

    async fn write(&self, table: Arc<TableArn>, records: Vec<Arc<Record>>) -> Result<Vec<usize>, Failure> {
        let ids: Vec<String> = records.iter().map(|record| record.event.message_id.clone()).collect();
        let number = self.note("write", Call::Write(ids.clone()));
        assert!((1..=25).contains(&records.len()), "1 to 25 items, not {}", records.len());
        let (after, answer) = (self.script().write)(number, &ids);
        sleep(after).await;
        let unprocessed = answer?;
        self.0.tables_written.lock().unwrap().push(table.name().to_owned());
        records
            .iter()
            .enumerate()
            .filter(|(at, _)| !unprocessed.contains(at))
            .for_each(|(_, record)| self.store(record));
        Ok(unprocessed)
    }

    async fn put(&self, _: Arc<TableArn>, record: Arc<Record>) -> Result<(), Failure> {
        let number = self.note("put", Call::Put(record.event.message_id.clone()));
        let (after, answer) = (self.script().put)(number, &record.event.message_id);
        sleep(after).await;
        answer?;
        self.store(&record);
        Ok(())
    }
}
