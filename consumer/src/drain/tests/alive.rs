//! What the liveness probe is told while polling is not what it should be.

use tenancy::aws::Fault;
use tenancy::directory::LookupError;

use super::fake::{Fake, failure, messages, millis};
use super::*;

#[tokio::test(start_paused = true)]
async fn while_the_queue_cannot_be_looked_up_the_service_is_alive_and_draining_begins_when_it_can() {
    for error in [LookupError::NotFound, LookupError::Unavailable] {
        // It was polled before, so that there is something to miss.
        let fake = Fake::new().receives_in(millis(1_000), Err(failure(Fault::Gone, "QueueDoesNotExist")));
        let running = start(&fake);
        pass(500).await;
        fake.set_queue(Err(error));
        for second in 0..600 {
            pass(1_000).await;
            assert!(running.liveness.is_alive(), "{error}: not alive after {second} s");
        }
        assert_eq!(fake.receives(), [0]);
        fake.set_queue(Ok("consumer-acme"));
        fake.arrives(messages(["a"]));
        // The longest pause between tries.
        pass(20_000).await;
        assert_eq!(fake.deleted(), ["h-a"], "{error}");
        running.stop_within(Duration::from_secs(30)).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_lookup_of_the_queue_that_does_not_end_is_noticed_like_a_poll() {
    let fake = Fake::new();
    fake.set_lookup(Duration::from_secs(100));
    let running = start(&fake);
    pass(90_000).await;
    assert!(running.liveness.is_alive());
    pass(1_000).await;
    assert!(!running.liveness.is_alive());
    pass(10_000).await;
    assert!(running.liveness.is_alive(), "it has ended");
}

#[tokio::test(start_paused = true)]
async fn an_idle_queue_whose_lookup_and_polls_end_is_alive() {
    let fake = Fake::new();
    let running = start(&fake);
    for _ in 0..600 {
        pass(1_000).await;
        assert!(running.liveness.is_alive());
    }
}
