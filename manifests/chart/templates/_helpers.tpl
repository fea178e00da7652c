{{- define "kubectl-upgrade.image" -}}
{{ .Values.image.repository }}
{{- if .Values.image.digest }}@{{ .Values.image.digest }}{{ else }}:{{ .Values.image.tag | default .Chart.AppVersion }}{{ end }}
{{- end }}

{{- /* Puts the values into the Deployment or the DaemonSet .object; .values are its part of them. */ -}}
{{- define "kubectl-upgrade.workload" -}}
{{- $pod := .object.spec.template.spec -}}
{{- $container := first $pod.containers -}}
{{- $_ := set $container "image" (include "kubectl-upgrade.image" .root) -}}
{{- $_ := set $container "imagePullPolicy" .root.Values.image.pullPolicy -}}
{{- $_ := set $container "resources" .values.resources -}}
{{- $_ := set $pod "nodeSelector" .values.nodeSelector -}}
{{- $_ := set $pod "tolerations" .values.tolerations -}}
{{- with .root.Values.imagePullSecrets -}}
{{- $_ := set $pod "imagePullSecrets" . -}}
{{- end -}}
{{- with .values.replicas -}}
{{- $_ := set $.object.spec "replicas" . -}}
{{- end -}}
{{- end }}
