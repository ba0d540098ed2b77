{{/* Refusals about the release as a whole: dict root, plan. */}}
{{- define "tenant.check.release" -}}
{{- $values := .root.Values -}}
{{- $_ := include "tenant.account" .root -}}
{{- $_ := include "tenant.check.auth" .root -}}
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
{{- $quota := default dict $values.resourceQuota -}}
{{- if and $quota.enabled (not (include "tenant.textmap" (list $quota.hard))) -}}
  {{- fail "resourceQuota.enabled is true, but resourceQuota.hard is empty: a quota without limits limits nothing" -}}
{{- end -}}
{{- $range := default dict $values.limitRange -}}
{{- if and $range.enabled (not $range.limits) -}}
  {{- fail "limitRange.enabled is true, but limitRange.limits is empty" -}}
{{- end -}}
{{- range $key := keys (default dict $values.commonLabels) -}}
  {{- if or (hasPrefix "app.kubernetes.io/" $key) (has $key (list "app" "tenant" "helm.sh/chart")) -}}
    {{- fail (printf "commonLabels must not set %s: it is the chart's own" $key) -}}
  {{- end -}}
{{- end -}}
{{- range $key := keys (default dict $values.commonAnnotations) -}}
  {{- if or (hasPrefix "helm.sh/hook" $key) (hasPrefix "meta.helm.sh/" $key) -}}
    {{- fail (printf "commonAnnotations must not set %s: every object of the release would leave it" $key) -}}
  {{- end -}}
{{- end -}}
{{- range $toleration := (default dict $values.global).tolerations -}}
  {{- if and (not (get $toleration "key")) (ne (toString (get $toleration "operator")) "Exists") -}}
    {{- fail "global.tolerations has an entry without a key: name one, or say operator Exists to tolerate every taint" -}}
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
      {{- if has $key (list "true" "false" "null") -}}
        {{- fail (printf "infra.vars has the name %s: YAML reads an unquoted y, n, on, off, yes or no so; put the name in quotes" $key) -}}
      {{- end -}}
      {{- if kindIs "float64" $value -}}
        {{- $_ := include "tenant.text" (dict "value" $value "whole" false "name" (printf "infra.vars.%s" $key)) -}}
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

{{/* Identity set by half: pods would refuse to start, or would believe everybody. */}}
{{- define "tenant.check.auth" -}}
{{- $auth := default dict .Values.auth -}}
{{- if and $auth.issuer (not $auth.audience) -}}
  {{- fail "auth.audience is needed with auth.issuer: it names whom tokens must be for" -}}
{{- end -}}
{{- range $key := list "audience" "jwksUrl" -}}
  {{- if and (get $auth $key) (not $auth.issuer) -}}
    {{- fail (printf "auth.issuer is empty while auth.%s is set: without an issuer nothing is asked of those who call" $key) -}}
  {{- end -}}
{{- end -}}
{{- if and $auth.issuer $auth.jwksUrl -}}
  {{- $origin := printf "%s://%s" (urlParse $auth.issuer).scheme (urlParse $auth.issuer).host | lower -}}
  {{- if ne $origin (printf "%s://%s" (urlParse $auth.jwksUrl).scheme (urlParse $auth.jwksUrl).host | lower) -}}
    {{- fail (printf "auth.jwksUrl must be on the issuer's own host, %s" $origin) -}}
  {{- end -}}
{{- end -}}
{{- end -}}
