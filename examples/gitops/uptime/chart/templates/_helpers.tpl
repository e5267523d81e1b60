{{- define "uptime.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "uptime.labels" -}}
{{ include "uptime.selector" . }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end -}}

{{- define "uptime.image" -}}
{{- printf "%s:%s" .Values.image.repository .Values.image.tag -}}
{{- end -}}

{{- define "uptime.alertSecret" -}}
{{- .Values.alerts.existingSecret | default (printf "%s-alerts" .Release.Name) -}}
{{- end -}}
