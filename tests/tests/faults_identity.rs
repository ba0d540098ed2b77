//! Credentials and parameters: who the services are to AWS, where AWS is, and what is looked up how often.

mod faults_identity_parts;
