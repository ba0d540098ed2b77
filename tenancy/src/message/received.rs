//! Reading a message from SQS.
