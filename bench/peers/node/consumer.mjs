// The consumer that a team would write with sqs-consumer: a batch handler that writes the records of a receive with one
// BatchWriteItem, and several pollers in one process. QUEUE_URL, TABLE, ENVIRONMENT and POLLERS come from the environment.
import { Agent } from "node:http";
import { BatchWriteItemCommand, DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { SQSClient } from "@aws-sdk/client-sqs";
import { NodeHttpHandler } from "@smithy/node-http-handler";
import { Consumer } from "sqs-consumer";

const { QUEUE_URL, TABLE, ENVIRONMENT, POLLERS } = process.env;
const pollers = Number(POLLERS);
// A socket for each poller and then some: with the default of 50 the pollers would wait for each other.
const connections = { httpAgent: new Agent({ keepAlive: true, maxSockets: 4 * pollers + 16 }) };
const sqs = new SQSClient({ requestHandler: new NodeHttpHandler(connections) });
const dynamodb = new DynamoDBClient({ requestHandler: new NodeHttpHandler(connections) });

function record(message) {
  const attribute = (name) => message.MessageAttributes[name].StringValue;
  return {
    tenant_id: { S: attribute("tenant_id") },
    message_id: { S: attribute("message_id") },
    producer_environment: { S: attribute("producer_environment") },
    consumer_environment: { S: ENVIRONMENT },
    content_type: { S: attribute("content_type") },
    timestamp: { S: new Date().toISOString() },
    sent_at: { S: new Date(Number(message.Attributes.SentTimestamp)).toISOString() },
    body: { S: message.Body },
  };
}

async function store(messages) {
  let requests = { [TABLE]: messages.map((message) => ({ PutRequest: { Item: record(message) } })) };
  while (Object.keys(requests).length > 0) {
    const answer = await dynamodb.send(new BatchWriteItemCommand({ RequestItems: requests }));
    requests = answer.UnprocessedItems ?? {};
  }
  return messages;
}

for (let poller = 0; poller < pollers; poller += 1) {
  const consumer = Consumer.create({
    queueUrl: QUEUE_URL,
    sqs,
    batchSize: 10,
    waitTimeSeconds: 20,
    attributeNames: ["SentTimestamp", "ApproximateReceiveCount"],
    messageAttributeNames: ["tenant_id", "message_id", "producer_environment", "content_type"],
    handleMessageBatch: store,
  });
  for (const event of ["error", "processing_error", "timeout_error"]) {
    consumer.on(event, (error) => console.error(event, error));
  }
  consumer.start();
}
