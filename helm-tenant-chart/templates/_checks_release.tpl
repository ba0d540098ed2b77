{{/* Refusals about the release as a whole: dict root, plan. */}}
{{- define "tenant.check.release" -}}
{{- $values := .root.Values -}}
{{- $_ := include "tenant.account" .root -}}
{{- $dedicated := list -}}
{{- $first := "" -}}
{{- range $name, $app := .plan.apps -}}
  {{- if $app.dedicated -}}
    {{- $dedicated = append $dedicated $name -}}
    {{- if and $values.podIdentity $app.serviceAccount.roleArn -}}
      {{- fail (printf "apps.%s.serviceAccount.roleArn is set while podIdentity is true: Pod Identity knows the role by its association" $name) -}}
    {{- end -}}
  {{- end -}}
{{- end -}}
{{- range $section := list "resourceQuota" "limitRange" -}}
  {{- if and (dig "enabled" false (default dict (get $values $section))) (not $dedicated) -}}
    {{- fail (printf "%s.enabled is true, but no app of this release is dedicated: the namespace that serves %s is its pool's, which has its own" $section $values.tenantId) -}}
  {{- end -}}
{{- end -}}
{{- range $key := keys (default dict $values.commonLabels) -}}
  {{- if or (hasPrefix "app.kubernetes.io/" $key) (has $key (list "app" "tenant" "helm.sh/chart")) -}}
    {{- fail (printf "commonLabels must not set %s: it is the chart's own" $key) -}}
  {{- end -}}
{{- end -}}
{{- $_ := include "tenant.check.loadbalancer" .root -}}
{{- with $values.infra -}}
  {{- if .enabled -}}
    {{- if and .destroyResourcesOnDeletion (eq (toString .deletionProtection) "true") -}}
      {{- fail "infra.destroyResourcesOnDeletion and infra.deletionProtection are both true: destroying would fail at the protected table" -}}
    {{- end -}}
    {{- range $key, $value := .vars -}}
      {{- if has $key (list "tenant_id" "enable_producer" "enable_consumer" "enable_payments" "pool_id" "deletion_protection") -}}
        {{- fail (printf "infra.vars must not set %s: the chart sets it from a value of its own" $key) -}}
      {{- end -}}
      {{- if contains "${" (toJson $value) -}}
        {{- fail (printf "infra.vars.%s has a ${ in it: tofu-controller and Flux would both try to fill it in; give the value itself" $key) -}}
      {{- end -}}
    {{- end -}}
  {{- end -}}
{{- end -}}
{{- end -}}

{{/* awsAccountId as text, or nothing. Unquoted it is a number, which is exact as long as no zero was lost in front. */}}
{{- define "tenant.account" -}}
{{- $id := include "tenant.text" (dict "value" .Values.awsAccountId "whole" true "name" "awsAccountId") -}}
{{- if and $id (not (regexMatch "^[0-9]{12}$" $id)) -}}
  {{- fail (printf "awsAccountId %q must be 12 digits, in quotes" $id) -}}
{{- end -}}
{{- $id -}}
{{- end -}}

{{/*
The pool that Terraform is told: that of the apps which are not dedicated. A tenant's queue is one pool's, so two different
ones are refused. Where all are dedicated it decides nothing; it is then the consumer's, and stays the same when the tier
changes. dict root, pools (app to pool, of those that are pooled), homes (app to envId, of all).
*/}}
{{- define "tenant.poolid" -}}
{{- $pools := pick .pools "producer" "consumer" "payments" -}}
{{- $found := "" -}}
{{- $from := "" -}}
{{- range $name, $pool := $pools -}}
  {{- if and $found (ne $found $pool) -}}
    {{- fail (printf "apps.%s.envId is %s and apps.%s.envId %s: one pool serves a tenant" $from $found $name $pool) -}}
  {{- end -}}
  {{- $found = $pool -}}
  {{- $from = $name -}}
{{- end -}}
{{- coalesce $found (get .homes "consumer") (get .homes "producer") .root.Values.appDefaults.envId -}}
{{- end -}}

{{/* Listeners and certificates belong together; a listener without a certificate stops the whole group. */}}
{{- define "tenant.check.loadbalancer" -}}
{{- $lb := .Values.loadBalancer -}}
{{- $https := list -}}
{{- range $lb.listenPorts -}}
  {{- range $protocol, $port := . -}}
    {{- if eq $protocol "HTTPS" -}}{{- $https = append $https (int $port) -}}{{- end -}}
  {{- end -}}
{{- end -}}
{{- if and $https (not $lb.certificateArns) -}}
  {{- fail "loadBalancer.listenPorts has HTTPS, but loadBalancer.certificateArns is empty: without a certificate the load balancer's whole group stops being reconciled" -}}
{{- end -}}
{{- if and $lb.certificateArns $lb.listenPorts (not $https) -}}
  {{- fail "loadBalancer.certificateArns is set, but no listener of loadBalancer.listenPorts is HTTPS" -}}
{{- end -}}
{{- if $lb.sslRedirectPort -}}
  {{- if not (has (int $lb.sslRedirectPort) $https) -}}
    {{- fail (printf "loadBalancer.sslRedirectPort is %v, which is no HTTPS listener of loadBalancer.listenPorts" $lb.sslRedirectPort) -}}
  {{- end -}}
{{- end -}}
{{- end -}}
