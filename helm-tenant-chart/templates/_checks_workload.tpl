{{/* Refusals about an app that runs in this release: dict root, app. */}}
{{- define "tenant.check.dedicated" -}}
{{- $app := .app -}}
{{- $at := printf "apps.%s" $app.name -}}
{{- if not (regexMatch "^[A-Za-z0-9_][A-Za-z0-9._-]{0,127}$" $app.tag) -}}
  {{- fail (printf "%s.image.tag %q is no tag: letters, digits, dots, dashes and underscores, at most 128" $at $app.tag) -}}
{{- end -}}
{{- if contains ":" (last (splitList "/" (toString $app.image.repository))) -}}
  {{- fail (printf "%s.image.repository %q has a tag in it: put that into %s.image.tag" $at $app.image.repository $at) -}}
{{- end -}}
{{- if and $app.serviceAccount.create $app.serviceAccount.name -}}
  {{- fail (printf "%s.serviceAccount.name is %q while create is true: the account that the chart makes is called %s, since the role's trust policy names it; set create to false to use another" $at $app.serviceAccount.name $app.id) -}}
{{- end -}}
{{- if eq (int $app.containerPort) (int $app.adminPort) -}}
  {{- fail (printf "%s.containerPort and adminPort are both %v: metrics and probes must not be on the tenants' port" $at $app.containerPort) -}}
{{- end -}}
{{- range $key := list "podSecurityContext" "securityContext" -}}
  {{- $context := default dict (get $app $key) -}}
  {{- $nonRoot := get $context "runAsNonRoot" -}}
  {{- if kindIs "string" $nonRoot -}}{{- $nonRoot = dig "runAsNonRoot" false (default dict $app.podSecurityContext) -}}{{- end -}}
  {{- if and (eq (toString (get $context "runAsUser")) "0") $nonRoot -}}
    {{- fail (printf "%s.%s.runAsUser is 0 (root) while runAsNonRoot is true: such a pod never starts" $at $key) -}}
  {{- end -}}
{{- end -}}
{{- range $key := keys (default dict $app.podLabels) -}}
  {{- if has $key (list "app" "app.kubernetes.io/name" "app.kubernetes.io/instance" "app.kubernetes.io/component" "app.kubernetes.io/part-of" "tenant" "helm-test") -}}
    {{- fail (printf "%s.podLabels must not set %s: the chart's own selectors read it" $at $key) -}}
  {{- end -}}
{{- end -}}
{{- if le (int $app.shutdown.timeoutSeconds) (add (int $app.shutdown.drainDelaySeconds) (int $app.shutdown.requestTimeoutSeconds)) -}}
  {{- fail (printf "%s.shutdown.timeoutSeconds is %v and must be more than drainDelaySeconds %v and requestTimeoutSeconds %v together, so that the last request can end" $at $app.shutdown.timeoutSeconds $app.shutdown.drainDelaySeconds $app.shutdown.requestTimeoutSeconds) -}}
{{- end -}}
{{- if and (dig "privileged" false (default dict $app.securityContext)) (eq (toString (dig "allowPrivilegeEscalation" true (default dict $app.securityContext))) "false") -}}
  {{- fail (printf "%s.securityContext.privileged is true while allowPrivilegeEscalation is false: Kubernetes refuses that" $at) -}}
{{- end -}}
{{- $_ := include "tenant.check.resources" . -}}
{{- $_ := include "tenant.check.lists" . -}}
{{- $_ := include "tenant.check.scaling" . -}}
{{- $_ := include "tenant.check.budget" . -}}
{{- $_ := include "tenant.check.env" . -}}
{{- end -}}

{{/* A request above its limit, which can come from a limit of the user's and a request of the defaults. */}}
{{- define "tenant.check.resources" -}}
{{- $app := .app -}}
{{- $limits := default dict (default dict $app.resources).limits -}}
{{- range $name, $request := (default dict $app.resources).requests -}}
  {{- if hasKey $limits $name -}}
    {{- $limit := get $limits $name -}}
    {{- if gt (include "tenant.quantity" $request | float64) (include "tenant.quantity" $limit | float64) -}}
      {{- fail (printf "apps.%s.resources.requests.%s is %v and its limit %v: a request cannot be above its limit" $app.name $name $request $limit) -}}
    {{- end -}}
  {{- end -}}
{{- end -}}
{{- end -}}

{{/* A quantity as a plain number. */}}
{{- define "tenant.quantity" -}}
{{- $text := toString . -}}
{{- $unit := regexFind "[A-Za-z]+$" $text -}}
{{- $factors := dict "m" 0.001 "k" 1e3 "M" 1e6 "G" 1e9 "T" 1e12 "P" 1e15 "Ki" 1024.0 "Mi" 1048576.0 "Gi" 1073741824.0 "Ti" 1099511627776.0 "Pi" 1125899906842624.0 -}}
{{- printf "%.6f" (mulf (trimSuffix $unit $text | float64) (ternary (get $factors $unit) 1.0 (hasKey $factors $unit))) -}}
{{- end -}}

{{/* Lists that Kubernetes merges by a key, in which one key given twice is refused there or lost. */}}
{{- define "tenant.check.lists" -}}
{{- $app := .app -}}
{{- range $list, $key := dict "extraVolumes" "name" "extraVolumeMounts" "mountPath" "topologySpreadConstraints" "topologyKey" "imagePullSecrets" "name" -}}
  {{- $seen := list -}}
  {{- range $item := default list (get $app $list) -}}
    {{- $id := $item -}}
    {{- if kindIs "map" $item -}}{{- $id = get $item $key -}}{{- end -}}
    {{- if has $id $seen -}}
      {{- fail (printf "apps.%s.%s has the %s %s twice" $app.name $list $key $id) -}}
    {{- end -}}
    {{- $seen = append $seen $id -}}
  {{- end -}}
{{- end -}}
{{- $volumes := list -}}
{{- range $app.extraVolumes -}}{{- $volumes = append $volumes .name -}}{{- end -}}
{{- range $app.extraVolumeMounts -}}
  {{- if not (has .name $volumes) -}}
    {{- fail (printf "apps.%s.extraVolumeMounts: %s is none of its extraVolumes" $app.name .name) -}}
  {{- end -}}
{{- end -}}
{{- end -}}

{{/* The scalers of an app. */}}
{{- define "tenant.check.scaling" -}}
{{- $app := .app -}}
{{- $at := printf "apps.%s" $app.name -}}
{{- $hpa := $app.autoscaling -}}
{{- if and $hpa.enabled $app.keda.enabled -}}
  {{- fail (printf "%s.autoscaling.enabled and %s.keda.enabled are both true: KEDA makes a HorizontalPodAutoscaler of its own, so switch one off" $at $at) -}}
{{- end -}}
{{- if $hpa.enabled -}}
  {{- if gt (int $hpa.minReplicas) (int $hpa.maxReplicas) -}}
    {{- fail (printf "%s.autoscaling.minReplicas %v is above maxReplicas %v" $at $hpa.minReplicas $hpa.maxReplicas) -}}
  {{- end -}}
  {{- if not (or $hpa.targetCPUUtilizationPercentage $hpa.targetMemoryUtilizationPercentage) -}}
    {{- fail (printf "%s.autoscaling has nothing to go by: set targetCPUUtilizationPercentage or targetMemoryUtilizationPercentage" $at) -}}
  {{- end -}}
  {{- $resources := default dict $app.resources -}}
  {{- range $measure, $target := dict "cpu" $hpa.targetCPUUtilizationPercentage "memory" $hpa.targetMemoryUtilizationPercentage -}}
    {{- if and $target (not (get (default dict $resources.requests) $measure)) (not (get (default dict $resources.limits) $measure)) -}}
      {{- fail (printf "%s.autoscaling goes by %s, in percent of the request, and there is none: set %s.resources.requests.%s" $at $measure $at $measure) -}}
    {{- end -}}
  {{- end -}}
{{- end -}}
{{- if $app.keda.enabled -}}
  {{- if has $app.name (list "producer" "payments") -}}
    {{- fail (printf "%s.keda.enabled is true, but %s drains no queue: KEDA is for the consumer" $at $app.name) -}}
  {{- end -}}
  {{- if not $app.keda.queueURL -}}
    {{- fail (printf "%s.keda.queueURL is missing: KEDA looks at the queue itself and needs its URL" $at) -}}
  {{- end -}}
  {{- if not (include "tenant.keda.region" .) -}}
    {{- fail (printf "%s.keda.awsRegion is missing, and neither awsRegion nor queueURL %q says it" $at $app.keda.queueURL) -}}
  {{- end -}}
  {{- if and $app.keda.authenticationRef (not (get $app.keda.authenticationRef "name")) -}}
    {{- fail (printf "%s.keda.authenticationRef has no name" $at) -}}
  {{- end -}}
  {{- if gt (int $app.keda.minReplicas) (int $app.keda.maxReplicas) -}}
    {{- fail (printf "%s.keda.minReplicas %v is above maxReplicas %v" $at $app.keda.minReplicas $app.keda.maxReplicas) -}}
  {{- end -}}
{{- end -}}
{{- if and (regexMatch "^0+%?$" (toString $app.rollout.maxSurge)) (regexMatch "^0+%?$" (toString $app.rollout.maxUnavailable)) -}}
  {{- fail (printf "%s.rollout.maxSurge and maxUnavailable are both 0: no pod could ever be replaced" $at) -}}
{{- end -}}
{{- end -}}

{{/* The region of the queue that KEDA looks at, or nothing. */}}
{{- define "tenant.keda.region" -}}
{{- $said := default .root.Values.awsRegion .app.keda.awsRegion -}}
{{- $host := regexFind "sqs\\.[a-z0-9-]+\\.amazonaws\\." (toString .app.keda.queueURL) -}}
{{- default ($host | trimPrefix "sqs." | trimSuffix ".amazonaws.") $said -}}
{{- end -}}

{{/* A budget that lets no pod go blocks every drain of a node, and with it the cluster's upgrade. */}}
{{- define "tenant.check.budget" -}}
{{- $app := .app -}}
{{- $budget := $app.podDisruptionBudget -}}
{{- $at := printf "apps.%s.podDisruptionBudget" $app.name -}}
{{- if and $budget.enabled (ge (int $app.floor) 2) -}}
  {{- $min := toString $budget.minAvailable -}}
  {{- if kindIs "invalid" $budget.minAvailable -}}
    {{- if kindIs "invalid" $budget.maxUnavailable -}}
      {{- fail (printf "%s says neither maxUnavailable nor minAvailable: set one, or enabled to false" $at) -}}
    {{- else if regexMatch "^0+%?$" (toString $budget.maxUnavailable) -}}
      {{- fail (printf "%s.maxUnavailable is %v: no node with one of these pods could ever be drained" $at $budget.maxUnavailable) -}}
    {{- end -}}
  {{- else -}}
    {{- $stay := int $min -}}
    {{- if hasSuffix "%" $min -}}
      {{- $stay = div (add (mul (int (trimSuffix "%" $min)) (int $app.floor)) 99) 100 -}}
    {{- end -}}
    {{- if ge (int $stay) (int $app.floor) -}}
      {{- fail (printf "%s.minAvailable %s of at least %v pods lets none go: no node with one of these pods could ever be drained" $at $min $app.floor) -}}
    {{- end -}}
  {{- end -}}
{{- end -}}
{{- end -}}

{{/* An environment variable that is given twice has one value in one tool and the other in the next. */}}
{{- define "tenant.check.env" -}}
{{- $app := .app -}}
{{- $seen := dict -}}
{{- range include "tenant.env.own" . | fromYamlArray -}}
  {{- $_ := set $seen .name "the chart" -}}
{{- end -}}
{{- range $key := keys $app.plain | sortAlpha -}}
  {{- if hasKey $seen $key -}}
    {{- fail (printf "apps.%s.settings must not set %s: the chart sets it from a value of its own" $app.name $key) -}}
  {{- end -}}
  {{- $_ := set $seen $key (printf "apps.%s.settings" $app.name) -}}
{{- end -}}
{{- range $app.extraEnv -}}
  {{- if hasKey $seen .name -}}
    {{- fail (printf "apps.%s.extraEnv must not set %s: it is set already by %s" $app.name .name (get $seen .name)) -}}
  {{- end -}}
  {{- if and (hasKey . "value") (hasKey . "valueFrom") -}}
    {{- fail (printf "apps.%s.extraEnv: %s has a value and a valueFrom; Kubernetes takes one of them" $app.name .name) -}}
  {{- end -}}
  {{- $_ := set $seen .name (printf "apps.%s.extraEnv" $app.name) -}}
{{- end -}}
{{- end -}}
