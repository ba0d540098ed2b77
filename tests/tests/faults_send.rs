//! Sending: what a client hears and what the queue holds when SQS misbehaves, and what SQS would refuse.

mod faults_send_parts;
