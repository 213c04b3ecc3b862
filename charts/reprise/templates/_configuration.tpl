{{/* The profiles as they are written to the file: the only one may go without a name. YAML list. */}}
{{- define "reprise.profiles" -}}
{{- $profiles := .Values.configuration.profiles | default (list dict) -}}
{{- if eq (len $profiles) 1 -}}
{{- $profiles = list (merge (dict) (first $profiles) (dict "schedulerName" .Values.schedulerName)) -}}
{{- end -}}
{{- toYaml $profiles -}}
{{- end -}}

{{/* What is said of changes. A release of a chart that knew no such values has none of them after `helm upgrade --reuse-values`. */}}
{{- define "reprise.onChange" -}}
{{- (.Values.config | default dict).onChange | default "reload" -}}
{{- end -}}

{{- define "reprise.configResource" -}}
{{- (.Values.config | default dict).resource | default "" -}}
{{- end -}}

{{/* "true" when replicas elect a leader. */}}
{{- define "reprise.leaderElect" -}}
{{- $election := .Values.configuration.leaderElection | default dict -}}
{{- if hasKey $election "leaderElect" -}}{{- $election.leaderElect -}}{{- else -}}true{{- end -}}
{{- end -}}

{{- define "reprise.leaseName" -}}
{{- $election := .Values.configuration.leaderElection | default dict -}}
{{- $name := $election.resourceName | default (include "reprise.fullname" .) -}}
{{- if eq $name "kube-scheduler" -}}
{{- fail "the Lease may not be named kube-scheduler: who holds that one in kube-system keeps the cluster's own scheduler from leading" -}}
{{- end -}}
{{- $name -}}
{{- end -}}

{{/* Both documents, as `reprise run --config` reads them. */}}
{{- define "reprise.configuration" -}}
{{- $kube := deepCopy .Values.configuration -}}
{{- $_ := set $kube "apiVersion" "kubescheduler.config.k8s.io/v1" -}}
{{- $_ := set $kube "kind" "KubeSchedulerConfiguration" -}}
{{- $_ := set $kube "profiles" (include "reprise.profiles" . | fromYamlArray) -}}
{{- $election := dict "leaderElect" (eq (include "reprise.leaderElect" .) "true") "resourceName" (include "reprise.leaseName" .) "resourceNamespace" .Release.Namespace -}}
{{- $_ := set $kube "leaderElection" (merge $election ($kube.leaderElection | default dict)) -}}
{{- $own := deepCopy .Values.repriseConfiguration -}}
{{- $_ := set $own "apiVersion" "reprise.dev/v1alpha1" -}}
{{- $_ := set $own "kind" "RepriseConfiguration" -}}
{{- $serving := dict "bindAddress" "0.0.0.0" "port" .Values.serving.port "debug" .Values.serving.debug -}}
{{- if .Values.serving.tls.secretName -}}
{{- $_ := set $serving "certFile" "/etc/reprise-tls/tls.crt" -}}
{{- $_ := set $serving "privateKeyFile" "/etc/reprise-tls/tls.key" -}}
{{- end -}}
{{- if .Values.metrics.plain.enabled -}}
{{- $_ := set $serving "plainMetricsPort" .Values.metrics.plain.port -}}
{{- end -}}
{{- $_ := set $own "serving" $serving -}}
{{ toYaml $kube }}
---
{{ toYaml $own }}
{{- end -}}
