{{/*
What the schema cannot say, said in sentences that name the value. The ids' rule is the services' own and the Terraform
module's: an id is a header's value, a namespace, a path in Parameter Store and part of role names.
*/}}
{{- define "tenant.check.id" -}}
{{- $id := .Values.tenantId -}}
{{- if or (kindIs "invalid" $id) (eq (toString $id) "") -}}
  {{- fail "tenantId is missing: say which tenant or pool this release deploys, for example --set tenantId=acme" -}}
{{- end -}}
{{- if not (kindIs "string" $id) -}}
  {{- fail (printf "tenantId was read as the %s %v: put it in quotes (a tenant's id starts with a letter)" (kindOf $id) $id) -}}
{{- end -}}
{{- if not (regexMatch "^[a-z]([a-z0-9-]{0,38}[a-z0-9])?$" (toString $id)) -}}
  {{- fail (printf "tenantId %q must be 1 to 40 small letters a-z, digits and dashes, start with a letter and not end with a dash" $id) -}}
{{- end -}}
{{- if contains "--" $id -}}
  {{- fail (printf "tenantId %q must not have two dashes in a row" $id) -}}
{{- end -}}
{{- if or (hasPrefix "aws" $id) (hasPrefix "ssm" $id) -}}
  {{- fail (printf "tenantId %q must not start with aws or ssm: Parameter Store refuses such names" $id) -}}
{{- end -}}
{{- if or (eq $id "default") (hasPrefix "kube-" $id) (hasPrefix "flux-" $id) -}}
  {{- fail (printf "tenantId %q must not be default or start with kube- or flux-: it becomes a namespace, and those are the cluster's own" $id) -}}
{{- end -}}
{{- if and (hasPrefix "pool-" $id) (not (regexMatch "^pool-[1-9][0-9]{0,3}$" $id)) -}}
  {{- fail (printf "tenantId %q names a pool and must be pool-1 to pool-9999; a tenant's id must not start with pool-" $id) -}}
{{- end -}}
{{- end -}}

{{/* Any app, dedicated or pooled: dict root, app, pool. */}}
{{- define "tenant.check.app" -}}
{{- $app := .app -}}
{{- $at := printf "apps.%s" $app.name -}}
{{- if not (regexMatch "^[a-z]([a-z0-9-]*[a-z0-9])?$" $app.name) -}}
  {{- fail (printf "%s: an app's name must be small letters a-z, digits and dashes, start with a letter and not end with a dash" $at) -}}
{{- end -}}
{{- if has $app.name (list "true" "false" "null") -}}
  {{- fail (printf "%s: YAML reads an unquoted y, n, on, off, yes or no as %s; put the app's name in quotes, or choose another" $at $app.name) -}}
{{- end -}}
{{- if gt (len $app.id) 52 -}}
  {{- fail (printf "%s: %s has %d characters and may have 52, so that the load balancer's annotation for it fits 63: shorten the app's name or tenantId" $at $app.id (len $app.id)) -}}
{{- end -}}
{{- if not (regexMatch "^pool-[1-9][0-9]{0,3}$" (toString $app.envId)) -}}
  {{- fail (printf "%s.envId %q must be a pool, pool-1 to pool-9999" $at (toString $app.envId)) -}}
{{- end -}}
{{- if and .pool $app.routed -}}
  {{- fail (printf "%s.ingress.enabled is true in the release of %s: a pool has no route of its own, the releases of its tenants bring theirs" $at .root.Values.tenantId) -}}
{{- end -}}
{{- if and $app.routed (eq (toString $app.service.enabled) "false") -}}
  {{- fail (printf "%s.service.enabled is false, but its route needs the Service: set %s.ingress.enabled to false as well" $at $at) -}}
{{- end -}}
{{- if $app.routed -}}
  {{- $_ := include "tenant.check.route" . -}}
{{- end -}}
{{- end -}}

{{/* The route of an app: dict root, app. One bad Ingress stops the reconciliation of its whole group, so what can be seen here is refused. */}}
{{- define "tenant.check.route" -}}
{{- $app := .app -}}
{{- $alb := "alb.ingress.kubernetes.io/" -}}
{{- range $source, $annotations := dict (printf "apps.%s.ingress.annotations" $app.name) $app.ingress.annotations "commonAnnotations" .root.Values.commonAnnotations -}}
  {{- range $key, $value := $annotations -}}
    {{- $refuse := printf "%s must not set %s" $source $key -}}
    {{- if or (hasPrefix (print $alb "conditions.") $key) (hasPrefix (print $alb "actions.") $key) -}}
      {{- fail (printf "%s: which requests reach a tenant is decided by its TenantID header alone" $refuse) -}}
    {{- else if eq $key (print $alb "group.name") -}}
      {{- fail (printf "%s: set loadBalancer.groupName" $refuse) -}}
    {{- else if eq $key (print $alb "group.order") -}}
      {{- fail (printf "%s: the rules of two tenants never overlap, and one order given twice stops the whole group" $refuse) -}}
    {{- else if eq $key (print $alb "target-type") -}}
      {{- fail (printf "%s: targets are pods (ip), which is what the rollout without lost requests rests on" $refuse) -}}
    {{- else if eq $key "kubernetes.io/ingress.class" -}}
      {{- fail (printf "%s: set apps.%s.ingress.className; Kubernetes refuses an Ingress that has both" $refuse $app.name) -}}
    {{- else if and (eq $key (print $alb "target-group-attributes")) (contains "deregistration_delay" (toString $value)) -}}
      {{- fail (printf "%s with a deregistration delay: set apps.%s.shutdown.deregistrationDelaySeconds, which is held against the drain delay" $refuse $app.name) -}}
    {{- end -}}
  {{- end -}}
{{- end -}}
{{- if gt (int $app.shutdown.deregistrationDelaySeconds) (int $app.shutdown.drainDelaySeconds) -}}
  {{- fail (printf "apps.%s.shutdown.deregistrationDelaySeconds is %v and drainDelaySeconds %v: a pod must serve at least as long as the load balancer may send to it" $app.name $app.shutdown.deregistrationDelaySeconds $app.shutdown.drainDelaySeconds) -}}
{{- end -}}
{{- end -}}
