{{/* Where pods of this release may run and how they pull: dict root, app. Blocks that are empty are left out. */}}
{{- define "tenant.placement" -}}
{{- with .root.Values.global -}}
{{- with include "tenant.textmap" (list .nodeSelector) }}
nodeSelector:
  {{- . | nindent 2 }}
{{- end }}
{{- with .tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}
{{- with .app.imagePullSecrets }}
imagePullSecrets:
  {{- range . }}
  - name: {{ ternary . (dig "name" "" (ternary (dict) . (kindIs "string" .))) (kindIs "string" .) | quote }}
  {{- end }}
{{- end }}
{{- end -}}

{{/* One probe: dict name, probe. */}}
{{- define "tenant.probe" -}}
{{- if .probe.enabled -}}
{{ .name }}Probe:
  httpGet:
    path: {{ .probe.path | quote }}
    port: {{ toJson .probe.port }}
  {{- if .probe.initialDelaySeconds }}
  initialDelaySeconds: {{ int .probe.initialDelaySeconds }}
  {{- end }}
  periodSeconds: {{ int .probe.periodSeconds }}
  timeoutSeconds: {{ int .probe.timeoutSeconds }}
  failureThreshold: {{ int .probe.failureThreshold }}
{{- end -}}
{{- end -}}

{{/* The spread constraints, each with the selector of its workload: dict root, app. */}}
{{- define "tenant.spread" -}}
{{- $list := list -}}
{{- range $given := .app.topologySpreadConstraints -}}
  {{- $own := dict "maxSkew" 1 "whenUnsatisfiable" "ScheduleAnyway" -}}
  {{- if not (hasKey $given "labelSelector") -}}
    {{- /* Pods of one revision count among themselves: in a rollout the old ones, about to go, would skew the new. */ -}}
    {{- $_ := set $own "labelSelector" (dict "matchLabels" $.app.selector) -}}
    {{- $_ := set $own "matchLabelKeys" (list "pod-template-hash") -}}
  {{- end -}}
  {{- range $key, $value := $given -}}
    {{- if not (kindIs "invalid" $value) -}}{{- $_ := set $own $key $value -}}{{- end -}}
  {{- end -}}
  {{- $list = append $list $own -}}
{{- end -}}
{{- if $list -}}
{{ toYaml $list }}
{{- end -}}
{{- end -}}
