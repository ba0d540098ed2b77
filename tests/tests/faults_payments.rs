//! Payments: one key, one payment, whatever happens to the claim, to the event and to their answers.

mod faults_payments_parts;
