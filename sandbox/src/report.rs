//! What the sandbox prints: who is there, how to talk to them, what happens.

use crate::aws::Landing;
use crate::plane::Plane;
use crate::plane::layout::{Layout, Service};
use crate::trial::Outcome;

/// The tenants as a table: tier, queue, table, and the environment that answers for each service.
#[must_use]
pub fn tenants(layout: &Layout) -> String {
    let head = ["TENANT", "TIER", "QUEUE", "TABLE", "PRODUCER", "CONSUMER", "PAYMENTS"].map(str::to_owned);
    let rows = layout.roster().tenants.iter().map(|tenant| {
        let resources = layout.resources_of(&tenant.id);
        let [producer, consumer, payments] =
            Service::ALL.map(|service| layout.deployment_for(&tenant.id, service).environment.to_string());
        let names = [tenant.id.to_string(), tenant.tier.to_string(), resources.queue(), resources.table()];
        let [id, tier, queue, table] = names;
        [id, tier, queue, table, producer, consumer, payments]
    });
    let rows: Vec<[String; 7]> = std::iter::once(head).chain(rows).collect();
    let width = |column: usize| rows.iter().map(|row| row[column].len()).max().unwrap_or_default();
    let widths: Vec<usize> = (0..7).map(width).collect();
    let line = |row: &[String; 7]| {
        let cells: Vec<String> = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}")).collect();
        format!("  {}\n", cells.join("  ").trim_end())
    };
    rows.iter().map(line).collect()
}

/// Where everything is.
#[must_use]
pub fn addresses(plane: &Plane) -> String {
    let (door, aws, count) = (plane.front_door(), plane.aws().url(), plane.services().len());
    format!(
        "The plane is up: {count} services behind the front door http://{door}, AWS at {aws}.\nIn a browser, http://{door}/ shows it at work.\n"
    )
}

/// Command lines to copy, for the first tenant of the roster.
#[must_use]
pub fn commands(plane: &Plane, region: &str) -> String {
    let (door, aws) = (plane.front_door(), plane.aws().url());
    let Some(tenant) = plane.layout().roster().tenants.first() else { return String::new() };
    let (id, resources) = (&tenant.id, plane.layout().resources_of(&tenant.id));
    let (queue, dead, table) = (resources.queue(), resources.dead_letter_queue(), resources.table());
    let account = crate::aws::ACCOUNT;
    let (token, auth) = match plane.bearer(id) {
        None => (String::new(), ""),
        Some(_) => (
            format!(
                "  TOKEN=$(curl -s -X POST 'http://{door}/token?tenant={id}' | sed 's/.*\"access_token\":\"\\([^\"]*\\)\".*/\\1/')\n"
            ),
            " -H \"Authorization: Bearer $TOKEN\"",
        ),
    };
    format!(
        r#"To try, with any tenant above:

{token}  curl -H 'TenantID: {id}'{auth} -H 'Content-Type: application/json' -d '{{"order": 42}}' http://{door}/producer
  curl -H 'TenantID: {id}'{auth} 'http://{door}/consumer/messages?limit=5'
  curl -H 'TenantID: {id}'{auth} -H 'Content-Type: application/json' -H 'Idempotency-Key: order-42' \
    -d '{{"amount": "12.50", "currency": "EUR", "reference": "order-42"}}' http://{door}/payments

  export AWS_ACCESS_KEY_ID=sandbox AWS_SECRET_ACCESS_KEY=sandbox AWS_DEFAULT_REGION={region}
  aws --endpoint-url {aws} ssm get-parameters --names /{id}/consumer_sqs /{id}/consumer_ddb
  aws --endpoint-url {aws} sqs get-queue-attributes --queue-url {aws}/{account}/{queue} --attribute-names All
  aws --endpoint-url {aws} sqs receive-message --queue-url {aws}/{account}/{dead}
  aws --endpoint-url {aws} dynamodb query --table-name {table} \
    --key-condition-expression 'tenant_id = :t' --expression-attribute-values '{{":t": {{"S": "{id}"}}}}'
"#
    )
}

/// How a tenant's event fared.
#[must_use]
pub fn outcome(outcome: &Outcome) -> String {
    let tenant = &outcome.tenant;
    match &outcome.result {
        Ok(landed) => {
            let millis = landed.took.as_secs_f64() * 1000.0;
            format!(
                "  {} ({}): record {} in {} after {millis:.1} ms\n",
                tenant.id, tenant.tier, landed.message_id, landed.table
            )
        }
        Err(reason) => format!("  {} ({}): did not land: {reason}\n", tenant.id, tenant.tier),
    }
}

/// A record that somebody else's event became.
#[must_use]
pub fn landing(landing: &Landing, now: jiff::Timestamp) -> String {
    let sent: Option<jiff::Timestamp> = landing.sent_at.parse().ok();
    let took = sent
        .map_or_else(String::new, |sent| format!(", {} ms after SQS took it", now.duration_since(sent).as_millis()));
    format!("  {}: record {} in {}{took}\n", landing.tenant_id, landing.message_id, landing.table)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plane::roster::Roster;

    #[test]
    fn the_table_of_tenants_says_what_each_has_and_who_answers() {
        let layout = Layout::new(Roster::new(&[]).unwrap(), "eu-central-1");
        let expected = "  TENANT    TIER      QUEUE              TABLE              PRODUCER  CONSUMER  PAYMENTS
  tenant-1  basic     consumer-pool-1    consumer-pool-1    pool-1    pool-1    pool-1
  tenant-2  advanced  consumer-tenant-2  consumer-tenant-2  pool-1    tenant-2  tenant-2
  tenant-3  premium   consumer-tenant-3  consumer-tenant-3  tenant-3  tenant-3  tenant-3
";
        assert_eq!(tenants(&layout), expected);
    }

    #[test]
    fn a_record_is_shown_with_the_time_since_sqs_took_the_message() {
        let shown = Landing {
            table: "consumer-pool-1".to_owned(),
            tenant_id: "tenant-1".to_owned(),
            message_id: "m".to_owned(),
            sent_at: "2026-11-30T12:00:00.000Z".to_owned(),
        };
        let now = "2026-11-30T12:00:00.042Z".parse().unwrap();
        assert_eq!(landing(&shown, now), "  tenant-1: record m in consumer-pool-1, 42 ms after SQS took it\n");
    }
}
