{{/* A string made fit to be a label's value: + is not allowed there, nor more than 63 characters. */}}
{{- define "tenant.labelvalue" -}}
{{- . | replace "+" "_" | trunc 63 | trimAll "-_." -}}
{{- end -}}

{{/*
The metadata of any object: dict root, name, and where they differ app (else it is the release's), namespace (else the
app's), labels and annotations (beside those of the chart and the values common*).
*/}}
{{- define "tenant.metadata" -}}
{{- $root := .root -}}
{{- $own := dict
      "helm.sh/chart" (include "tenant.labelvalue" (printf "%s-%s" $root.Chart.Name $root.Chart.Version))
      "app.kubernetes.io/instance" $root.Release.Name
      "app.kubernetes.io/managed-by" $root.Release.Service
      "app.kubernetes.io/part-of" $root.Chart.Name
      "app.kubernetes.io/version" (include "tenant.labelvalue" $root.Chart.AppVersion)
      "tenant" $root.Values.tenantId -}}
{{- with .app -}}
  {{- $_ := set $own "app.kubernetes.io/name" (printf "%s-%s" $root.Chart.Name .name) -}}
  {{- $_ := set $own "app.kubernetes.io/component" .name -}}
  {{- $_ := set $own "app" .id -}}
{{- end -}}
metadata:
  name: {{ .name | quote }}
  namespace: {{ .namespace | default (get (default dict .app) "namespace") | quote }}
  labels:
    {{- include "tenant.textmap" (list $root.Values.commonLabels .labels $own) | nindent 4 }}
  {{- with include "tenant.textmap" (list $root.Values.commonAnnotations .annotations) }}
  annotations:
    {{- . | nindent 4 }}
  {{- end }}
{{- end -}}

{{/* What selects the pods of a dedicated app: dict root, app. Immutable in a Deployment, so these three stay for good. */}}
{{- define "tenant.selector" -}}
app.kubernetes.io/name: {{ printf "%s-%s" .root.Chart.Name .app.name | quote }}
app.kubernetes.io/instance: {{ .root.Release.Name | quote }}
app: {{ .app.id | quote }}
{{- end -}}

{{/*
Maps of text to text as one, a later map's entry over an earlier one's: a quoted line each, in order of the keys. Entries
that are null are left out, maps that are null or empty too. Takes a list of maps.
*/}}
{{- define "tenant.textmap" -}}
{{- $all := dict -}}
{{- range $map := . -}}
  {{- range $key, $value := $map -}}
    {{- if not (kindIs "invalid" $value) -}}
      {{- $_ := set $all $key (include "tenant.text" (dict "value" $value "whole" false "name" (printf "the entry %s" $key))) -}}
    {{- end -}}
  {{- end -}}
{{- end -}}
{{- $lines := list -}}
{{- range $key, $value := $all -}}
  {{- $lines = append $lines (printf "%s: %s" ($key | quote) ($value | quote)) -}}
{{- end -}}
{{- join "\n" $lines -}}
{{- end -}}
