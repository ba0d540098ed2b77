{{/*
What this release deploys, worked out once: every template reads the plan and decides nothing itself.

tenant.plan gives JSON: {"tenant", "pool" (is it one), "poolId" (what Terraform is told), "apps": {NAME: the app's values
merged over appDefaults, and
  id          TENANT-APP, the name of its objects
  dedicated   it runs here
  routed      it has an Ingress
  serviced    it has a Service
  namespace   where its Service and Ingress live: the tenant's, or the pool's that serves it
  selector    the labels of the pods behind its Service
  scaler      "hpa", "keda" or "" (replicaCount counts)
  floor       the number of pods that is sure
  imageRef    image with tag
  plain       settings as text
}}. Apps that neither run nor are routed are left out. Refuses what contradicts itself (see _checks.tpl).
*/}}
{{- define "tenant.plan" -}}
{{- $_ := include "tenant.check.id" . -}}
{{- $tenant := default "" .Values.tenantId -}}
{{- if not $tenant -}}
  {{- /* Only `helm lint` comes here, which goes on after a refusal: there is nothing to look at then. */ -}}
  {{- toJson (dict "tenant" "" "pool" false "poolId" "" "apps" dict) -}}
{{- else -}}
{{- $pool := hasPrefix "pool-" $tenant -}}
{{- $apps := dict -}}
{{- $pools := dict -}}
{{- $homes := dict -}}
{{- range $name, $given := .Values.apps -}}
  {{- if not (kindIs "invalid" $given) -}}
    {{- $app := deepCopy $.Values.appDefaults -}}
    {{- if eq $name "payments" -}}
      {{- /* Off unless asked for, also where a null took away what values.yaml says. */ -}}
      {{- $_ := set $app "enabled" false -}}
      {{- $_ = set $app.ingress "enabled" false -}}
    {{- end -}}
    {{- $_ := include "tenant.merge" (dict "base" $app "over" $given "drops" false) -}}
    {{- range $section := list "resources" "securityContext" "podSecurityContext" -}}
      {{- range $key, $value := default dict (get $app $section) -}}
        {{- if and (kindIs "map" $value) (not $value) -}}{{- $_ := unset (get $app $section) $key -}}{{- end -}}
      {{- end -}}
    {{- end -}}
    {{- $routed := ternary (not $pool) $app.ingress.enabled (kindIs "invalid" $app.ingress.enabled) -}}
    {{- $_ := set $homes $name $app.envId -}}
    {{- if and (not $app.enabled) (or $routed $given.envId) -}}
      {{- $_ := set $pools $name $app.envId -}}
    {{- end -}}
    {{- if or $app.enabled $routed -}}
      {{- $serviced := or $routed (and $app.enabled (ternary false $app.service.enabled (kindIs "invalid" $app.service.enabled))) -}}
      {{- $app = merge (dict
            "name" $name
            "id" (printf "%s-%s" $tenant $name)
            "dedicated" $app.enabled
            "routed" $routed
            "serviced" $serviced
            "namespace" (ternary $tenant $app.envId $app.enabled)) $app -}}
      {{- $_ := include "tenant.check.app" (dict "root" $ "app" $app "pool" $pool) -}}
      {{- if $app.dedicated -}}
        {{- $_ = set $app "selector" (include "tenant.selector" (dict "root" $ "app" $app) | fromYaml) -}}
        {{- $scaler := ternary "hpa" (ternary "keda" "" (default false $app.keda.enabled)) (default false $app.autoscaling.enabled) -}}
        {{- $floor := $app.replicaCount -}}
        {{- if eq $scaler "hpa" -}}{{- $floor = $app.autoscaling.minReplicas -}}{{- end -}}
        {{- if eq $scaler "keda" -}}{{- $floor = $app.keda.minReplicas -}}{{- end -}}
        {{- $tag := include "tenant.text" (dict "value" $app.image.tag "whole" true "name" (printf "apps.%s.image.tag" $name)) -}}
        {{- $tag = default ($.Chart.AppVersion | replace "+" "_") $tag -}}
        {{- $plain := dict -}}
        {{- range $key, $value := $app.settings -}}
          {{- if not (kindIs "invalid" $value) -}}
            {{- $_ := set $plain $key (include "tenant.text" (dict "value" $value "whole" false "name" (printf "apps.%s.settings.%s" $name $key))) -}}
          {{- end -}}
        {{- end -}}
        {{- $app = merge (dict
              "scaler" $scaler
              "floor" $floor
              "tag" $tag
              "imageRef" (printf "%s:%s" (default $name $app.image.repository) $tag)
              "plain" $plain) $app -}}
        {{- $_ := include "tenant.check.dedicated" (dict "root" $ "app" $app) -}}
      {{- else -}}
        {{- /* The pool's release has a name of its own, so two of the three labels must do. */ -}}
        {{- $_ = set $app "selector" (dict "app.kubernetes.io/name" (printf "%s-%s" $.Chart.Name $name) "app" (printf "%s-%s" $app.envId $name)) -}}
      {{- end -}}
      {{- $_ = set $apps $name $app -}}
    {{- end -}}
  {{- end -}}
{{- end -}}
{{- $plan := dict "tenant" $tenant "pool" $pool "apps" $apps -}}
{{- $_ := set $plan "poolId" (ternary $tenant (include "tenant.poolid" (dict "root" . "pools" $pools "homes" $homes)) $pool) -}}
{{- $_ := include "tenant.check.release" (dict "root" . "plan" $plan) -}}
{{- toJson $plan -}}
{{- end -}}
{{- end -}}

{{/*
Merges `over` into `base`, in place. A null keeps what base has: so a section with nothing below it, and a key that one
Helm drops and another hands on, mean the default. Where a default can be unwanted (a limit, an entry of a security
context, a measure of the autoscaler), a null takes it away.
*/}}
{{- define "tenant.merge" -}}
{{- $base := .base -}}
{{- $drops := .drops -}}
{{- range $key, $value := .over -}}
  {{- if kindIs "invalid" $value -}}
    {{- if and $drops (not (has $key (list "enabled" "minReplicas" "maxReplicas"))) -}}
      {{- $_ := unset $base $key -}}
    {{- end -}}
  {{- else if and (kindIs "map" $value) (kindIs "map" (get $base $key)) -}}
    {{- $here := has $key (list "resources" "securityContext" "podSecurityContext" "autoscaling" "podDisruptionBudget") -}}
    {{- $_ := include "tenant.merge" (dict "base" (get $base $key) "over" $value "drops" (or $drops $here)) -}}
  {{- else -}}
    {{- $_ := set $base $key $value -}}
  {{- end -}}
{{- end -}}
{{- end -}}

{{/*
The text of a scalar, digit for digit. YAML reads a long number as a float, which prints as 2.0240506e+13; and a fraction
(1.10) has lost what was typed, so where the text counts (`whole`) it is refused.
*/}}
{{- define "tenant.text" -}}
{{- if kindIs "invalid" .value -}}
{{- else if kindIs "float64" .value -}}
  {{- if eq (floor .value) .value -}}
    {{- if or (ge .value 9007199254740992.0) (le .value -9007199254740992.0) -}}
      {{- fail (printf "%s is a number too long to be exact: put it in quotes" .name) -}}
    {{- end -}}
    {{- printf "%.0f" .value -}}
  {{- else if .whole -}}
    {{- fail (printf "%s is the number %v, which may not be what was typed: put it in quotes" .name .value) -}}
  {{- else -}}
    {{- toString .value -}}
  {{- end -}}
{{- else -}}
  {{- toString .value -}}
{{- end -}}
{{- end -}}
