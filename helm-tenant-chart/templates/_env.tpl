{{/*
The environment that the chart itself sets, as a YAML list: dict root, app. The POD_* names come first, since
OTEL_RESOURCE_ATTRIBUTES refers to them.
*/}}
{{- define "tenant.env.own" -}}
{{- $app := .app -}}
{{- range $name, $path := dict "POD_NAME" "metadata.name" "POD_NAMESPACE" "metadata.namespace" "POD_UID" "metadata.uid" "POD_IP" "status.podIP" "POD_NODE_NAME" "spec.nodeName" }}
- name: {{ $name }}
  valueFrom:
    fieldRef:
      apiVersion: v1
      fieldPath: {{ $path }}
{{- end }}
- name: OTEL_SERVICE_NAME
  value: {{ $app.name | quote }}
- name: OTEL_RESOURCE_ATTRIBUTES
  value: {{ printf "service.namespace=%s,service.instance.id=$(POD_UID),service.version=%s,deployment.environment.name=%s,k8s.namespace.name=$(POD_NAMESPACE),k8s.deployment.name=%s,k8s.pod.name=$(POD_NAME),k8s.pod.uid=$(POD_UID),k8s.pod.ip=$(POD_IP),k8s.node.name=$(POD_NODE_NAME),k8s.container.name=%s" .root.Chart.Name $app.tag .root.Values.tenantId $app.id $app.name | quote }}
- name: ENVIRONMENT
  value: {{ .root.Values.tenantId | quote }}
- name: PORT
  value: {{ $app.containerPort | int | quote }}
- name: ADMIN_PORT
  value: {{ $app.adminPort | int | quote }}
- name: REQUEST_TIMEOUT
  value: {{ printf "%ds" (int $app.shutdown.requestTimeoutSeconds) | quote }}
- name: DRAIN_DELAY
  value: {{ printf "%ds" (int $app.shutdown.drainDelaySeconds) | quote }}
- name: SHUTDOWN_TIMEOUT
  value: {{ printf "%ds" (int $app.shutdown.timeoutSeconds) | quote }}
{{- $otlp := default dict (dig "otlp" nil (default dict .root.Values.telemetry)) }}
{{- with $otlp.endpoint }}
- name: OTEL_EXPORTER_OTLP_ENDPOINT
  value: {{ . | quote }}
- name: OTEL_TRACES_SAMPLER
  value: "parentbased_traceidratio"
- name: OTEL_TRACES_SAMPLER_ARG
  value: {{ include "tenant.text" (dict "value" (ternary 0.05 $otlp.samplerRatio (kindIs "invalid" $otlp.samplerRatio)) "whole" false "name" "telemetry.otlp.samplerRatio") | quote }}
{{- end }}
{{- include "tenant.env.access" .root }}
{{- with .root.Values.awsRegion }}
- name: AWS_REGION
  value: {{ . | quote }}
{{- end }}
{{- end -}}

{{/* Who may come in and how much of it: the root. What is not set is left to the services' defaults. */}}
{{- define "tenant.env.access" -}}
{{- $auth := default dict .Values.auth -}}
{{- range $name, $key := dict "AUTH_ISSUER" "issuer" "AUTH_AUDIENCE" "audience" "AUTH_TENANT_CLAIM" "tenantClaim" "AUTH_JWKS_URL" "jwksUrl" "AUTH_CLOCK_SKEW" "clockSkew" }}
{{- with get $auth $key }}
- name: {{ $name }}
  value: {{ . | quote }}
{{- end }}
{{- end }}
{{- $limits := default dict .Values.limits -}}
{{- range $name, $key := dict "LIMIT_REQUESTS" "requestsPerSecond" "LIMIT_BYTES" "bytesPerSecond" "LIMIT_BURST" "burstSeconds" }}
{{- $value := get $limits $key -}}
{{- if not (or (kindIs "invalid" $value) (eq (toString $value) "")) }}
- name: {{ $name }}
  value: {{ include "tenant.text" (dict "value" $value "whole" true "name" (printf "limits.%s" $key)) | quote }}
{{- end }}
{{- end }}
{{- $own := list -}}
{{- range $tenant, $limit := default dict $limits.overrides -}}
{{- if not (kindIs "invalid" $limit) -}}
{{- $own = append $own (printf "%s=%s" $tenant (include "tenant.text" (dict "value" $limit "whole" true "name" (printf "limits.overrides.%s" $tenant)))) -}}
{{- end -}}
{{- end -}}
{{- with $own }}
- name: LIMIT_OVERRIDES
  value: {{ join "," . | quote }}
{{- end }}
{{- end -}}

{{/* The whole environment of the container: the chart's, the settings in order of their names, the user's. */}}
{{- define "tenant.env" -}}
{{- include "tenant.env.own" . | trim }}
{{- range $name, $value := .app.plain }}
- name: {{ $name | quote }}
  value: {{ $value | quote }}
{{- end }}
{{- with .app.extraEnv }}
{{ toYaml . }}
{{- end }}
{{- end -}}
