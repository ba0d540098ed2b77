//! The contract: what clients, operators and older programs rely on, black box, against the real services as processes.
//! Every case runs twice, on the embedded AWS and on moto, which know nothing of each other.
//!
//! A harness of its own, so that each plane is started once and ends with the run.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stderr)]

mod events;
mod older;
mod operations;
mod payments;
mod plane;
mod reading;
mod rules;

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use libtest_mimic::{Arguments, Trial};
use plane::{Backend, Plane};

/// What a case does.
type Deed = fn(Arc<Plane>) -> Pin<Box<dyn Future<Output = ()> + Send>>;

/// A case: a sentence and what it does.
type Case = (&'static str, Deed);

/// Names async functions of a module as cases.
macro_rules! cases {
    ($($module:ident: $($name:ident),+ $(,)?);+ $(;)?) => {
        vec![$($((stringify!($name), {
            let deed: Deed = |plane| Box::pin(async move { $module::$name(&plane).await });
            deed
        })),+),+]
    };
}

fn cases() -> Vec<Case> {
    cases! {
        events:
            an_event_of_each_tier_becomes_the_record_that_the_documentation_says,
            a_post_as_older_scripts_send_it_is_taken,
            any_json_is_stored_byte_for_byte_but_for_what_sqs_refuses,
            the_same_key_is_the_same_record,
            the_largest_event_is_stored_and_one_byte_more_is_refused,
            a_batch_gets_its_results_in_order_and_a_bad_event_fails_alone;
        older:
            a_message_of_an_older_producer_is_stored_under_its_sqs_id,
            an_older_consumer_finds_what_it_reads_in_our_messages,
            what_cannot_be_stored_goes_to_the_dead_letter_queue_and_its_neighbours_are_stored;
        operations:
            dead_letters_are_listed_and_sent_back_and_become_one_record_each,
            the_records_of_a_tenant_that_left_are_deleted_and_no_neighbour_s;
        payments:
            a_payment_is_requested_then_recorded_and_its_key_stands_for_it,
            a_payment_that_is_not_one_is_refused_with_the_reason;
        reading:
            records_are_read_newest_first_page_by_page,
            a_cursor_opens_nobody_else_s_records;
        rules:
            a_tenant_is_served_where_it_is_registered_and_nowhere_else,
            a_tier_header_is_held_against_the_registration;
    }
}

fn main() {
    let arguments = Arguments::from_args();
    let runtime = Arc::new(tokio::runtime::Runtime::new().unwrap());
    let planes: Vec<Arc<Plane>> = match arguments.list {
        true => Vec::new(),
        false => {
            [Backend::Embedded, Backend::Moto].map(|backend| Arc::new(runtime.block_on(Plane::start(backend)))).into()
        }
    };
    let mut trials = Vec::new();
    for backend in [Backend::Embedded, Backend::Moto] {
        for (name, case) in cases() {
            let plane = planes.iter().find(|plane| plane.backend == backend).cloned();
            let runtime = runtime.clone();
            trials.push(Trial::test(format!("{}::{name}", backend.name()), move || {
                runtime.block_on(case(plane.ok_or("no plane was started")?));
                Ok(())
            }));
        }
    }
    let conclusion = libtest_mimic::run(&arguments, trials);
    if conclusion.has_failed() {
        planes.iter().for_each(|plane| plane.tell_stories());
    }
    // The services and moto end with their handles, so those are dropped before the process ends.
    drop(planes);
    runtime.block_on(tokio::task::yield_now());
    conclusion.exit();
}
