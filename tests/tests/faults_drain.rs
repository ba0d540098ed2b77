//! Draining: nothing is deleted before its record is confirmed, nothing is lost, nothing is stored twice.

mod faults_drain_parts;
