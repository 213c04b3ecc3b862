{{/*
The rules of the scheduler's ClusterRole: what every scheduler needs, and what the plugins need that the profiles enable.
files/plugins.yaml is written from the product; which plugin is enabled where follows the merge of the default set as the product
does it, so that the rules are those that it checks at its start.
*/}}
{{- define "reprise.rules" -}}
{{- $catalog := .Files.Get "files/plugins.yaml" | fromYaml -}}
{{- $granted := dict -}}
{{- $wanted := $catalog.always -}}
{{- range $profile := include "reprise.profiles" . | fromYamlArray -}}
{{- $chosen := $profile.plugins | default dict -}}
{{- $multiPoint := $chosen.multiPoint | default dict -}}
{{- $dropped := list -}}
{{- range $multiPoint.disabled -}}{{- $dropped = append $dropped .name -}}{{- end -}}
{{- $everywhere := list -}}
{{- range $multiPoint.enabled -}}{{- $everywhere = append $everywhere .name -}}{{- end -}}
{{- range $name, $plugin := $catalog.plugins -}}
{{- $spread := or (has $name $everywhere) (and $plugin.byDefault (not (has "*" $dropped)) (not (has $name $dropped))) -}}
{{- range $point := $plugin.points -}}
{{- $here := get $chosen $point | default dict -}}
{{- $isEnabled := false -}}
{{- range $here.enabled -}}{{- if eq .name $name -}}{{- $isEnabled = true -}}{{- end -}}{{- end -}}
{{- $isDisabled := false -}}
{{- range $here.disabled -}}{{- if or (eq .name $name) (eq .name "*") -}}{{- $isDisabled = true -}}{{- end -}}{{- end -}}
{{- if or $isEnabled (and $spread (not $isDisabled)) -}}
{{- $wanted = concat $wanted ($plugin.reads | default list) (get $catalog.points $point | default list) -}}
{{- if eq $point "preBind" -}}{{- $wanted = concat $wanted ($plugin.writes | default list) -}}{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- if include "reprise.configResource" . -}}
{{- $wanted = append $wanted (dict "group" "reprise.dev" "resource" "schedulerconfigurations" "verbs" (list "get" "list" "watch")) -}}
{{- $wanted = append $wanted (dict "group" "reprise.dev" "resource" "schedulerconfigurations/status" "verbs" (list "patch")) -}}
{{- end -}}
{{- range $wanted -}}
{{- $key := printf "%s/%s" .group .resource -}}
{{- $_ := set $granted $key (concat (get $granted $key | default list) .verbs | uniq | sortAlpha) -}}
{{- end -}}
{{- /* One rule for the resources of a group that are granted the same. */ -}}
{{- $rules := dict -}}
{{- range $key := keys $granted | sortAlpha -}}
{{- $group := regexReplaceAll "/.*" $key "" -}}
{{- $resource := regexReplaceAll "^[^/]*/" $key "" -}}
{{- $verbs := get $granted $key -}}
{{- $ruleKey := printf "%s %s" $group (join " " $verbs) -}}
{{- $rule := get $rules $ruleKey | default (dict "apiGroups" (list $group) "resources" list "verbs" $verbs) -}}
{{- $_ := set $rule "resources" (append $rule.resources $resource) -}}
{{- $_ := set $rules $ruleKey $rule -}}
{{- end -}}
{{- $list := list -}}
{{- range $key := keys $rules | sortAlpha -}}{{- $list = append $list (get $rules $key) -}}{{- end -}}
{{- toYaml (concat $list .Values.rbac.extraRules) -}}
{{- end -}}
