package main

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
)

// namesIn finds what a reason quotes, and claims by namespace and name.
var namesIn = regexp.MustCompile(`"[^"]*"|\b(PVC|pod) [^ /]+/[^ :]+`)

func (o *oracle) count(what string) { o.counts[what]++ }

func (o *oracle) countIf(condition bool, what string) {
	if condition {
		o.counts[what]++
	}
}

func (o *oracle) countAll(prefix string, plugins sets.Set[string]) {
	for name := range plugins {
		o.count(prefix + name)
	}
}

func (o *oracle) countStatus(point string, s status) {
	if s.Code == "Success" {
		o.count(point + "/Success")
	}
	for _, reason := range s.Reasons {
		reason = namesIn.ReplaceAllString(reason, "NAME")
		if gates, _, found := strings.Cut(reason, ": ["); found && s.Plugin == "SchedulingGates" {
			reason = gates
		}
		if words := strings.SplitN(reason, ": ", 3); words[0] == "parsing pod" {
			if strings.HasPrefix(words[1], "[") {
				words[1] = "several"
			}
			reason = strings.Join(words[:2], ": ") // what follows says what is wrong with a selector, in many ways
		}
		o.count(strings.Join([]string{point, s.Plugin, s.Code, reason}, "/"))
	}
	o.countIf(len(s.Reasons) > 1, point+"/several reasons of one node")
}

// countScores puts every raw and normalised-and-weighted score into one of: below 0, 0, between, 100, above 100.
func (o *oracle) countScores(profileName string, answer *evaluation) {
	highest, lowest := map[string]int64{}, map[string]int64{}
	for _, plugins := range answer.Scores {
		o.countIf(len(plugins) == 0, "score/no plugin")
		for name, s := range plugins {
			label := name
			if name == "NodeResourcesFit" {
				label += " " + o.profiles.strategies[profileName]
			}
			o.count("score/" + label + "/raw " + band(s.Raw))
			if name == "NodeResourcesBalancedAllocation" {
				o.countIf(s.Raw < 75, "score/"+name+"/worse")
				o.countIf(s.Raw == 75, "score/"+name+"/as before")
				o.countIf(s.Raw > 75, "score/"+name+"/better")
			}
			if high, seen := highest[name]; !seen || s.Raw > high {
				highest[name] = s.Raw
			}
			if low, seen := lowest[name]; !seen || s.Raw < low {
				lowest[name] = s.Raw
			}
		}
	}
	for name, high := range highest {
		o.countIf(high == 0, "score/"+name+"/highest raw is 0")
		o.countIf(len(answer.Scores) > 1 && high != 0 && high == lowest[name], "score/"+name+"/all alike")
		o.countIf(len(answer.Scores) > 1 && high != lowest[name], "score/"+name+"/nodes differ")
	}
	o.countIf(len(answer.Best) > 1, "best/tie")
	o.countIf(len(answer.Best) == 1 && len(answer.Scores) > 1, "best/one of several")
}

// describe lists what of a profile's arguments a plugin can go through differently for.
func describe(p *config.KubeSchedulerProfile) []string {
	var described []string
	add := func(condition bool, what string) {
		if condition {
			described = append(described, "config/"+what)
		}
	}
	for _, c := range p.PluginConfig {
		switch args := c.Args.(type) {
		case *config.NodeResourcesFitArgs:
			described = append(described, "config/Fit "+string(args.ScoringStrategy.Type))
			add(len(args.IgnoredResources) > 0, "Fit ignoredResources")
			add(len(args.IgnoredResourceGroups) > 0, "Fit ignoredResourceGroups")
		case *config.NodeResourcesBalancedAllocationArgs:
			add(true, fmt.Sprintf("BalancedAllocation of %d resources", len(args.Resources)))
		case *config.NodeAffinityArgs:
			if args.AddedAffinity != nil {
				add(args.AddedAffinity.RequiredDuringSchedulingIgnoredDuringExecution != nil, "addedAffinity required")
				add(len(args.AddedAffinity.PreferredDuringSchedulingIgnoredDuringExecution) > 0, "addedAffinity preferred")
			}
		}
	}
	return append(described, describeBeyond(p)...)
}

func band(raw int64) string {
	switch {
	case raw < 0:
		return "below 0"
	case raw == 0:
		return "0"
	case raw < 100:
		return "between"
	case raw == 100:
		return "100"
	}
	return "above 100"
}

func (o *oracle) countPod(pod *v1.Pod) {
	o.countRequests("pod", pod)
	o.countConstraints(pod)
	o.countTerms("pod", pod.Spec.Affinity)
	o.countVolumes("pod", pod)
	o.countFeatures(pod)
	affinity := pod.Spec.Affinity
	if affinity != nil && affinity.NodeAffinity != nil {
		if required := affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution; required != nil {
			o.countIf(len(required.NodeSelectorTerms) == 0, "affinity/required without terms")
			for _, term := range required.NodeSelectorTerms {
				o.countTerm("required", term)
			}
		}
		for _, term := range affinity.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution {
			o.countIf(term.Weight == 0, "affinity/preferred weight 0")
			o.countTerm("preferred", term.Preference)
		}
	}
	o.countIf(pod.Spec.NodeSelector != nil, "affinity/nodeSelector")
	for _, t := range pod.Spec.Tolerations {
		o.count(fmt.Sprintf("toleration/operator %q", t.Operator))
		o.count(fmt.Sprintf("toleration/effect %q", t.Effect))
		o.countIf(t.Key == "", "toleration/without key")
	}
	for _, container := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
		o.countIf(strings.Contains(container.Image, "@"), "image/digest")
		o.countIf(container.Image != "" && strings.LastIndex(container.Image, ":") <= strings.LastIndex(container.Image, "/"), "image/without tag")
	}
	for _, volume := range pod.Spec.Volumes {
		o.countIf(volume.Image != nil, "image/volume")
	}
}

func (o *oracle) countTerm(kind string, term v1.NodeSelectorTerm) {
	o.countIf(len(term.MatchExpressions) == 0 && len(term.MatchFields) == 0, "affinity/"+kind+" empty term")
	for _, r := range term.MatchExpressions {
		o.count("affinity/" + kind + " " + string(r.Operator))
	}
	for _, r := range term.MatchFields {
		o.count("affinity/" + kind + " field " + string(r.Operator))
	}
}

func (o *oracle) countExisting(pod *v1.Pod) {
	o.countIf(pod.DeletionTimestamp != nil, "state/terminating pod")
	o.countRequests("existing", pod)
	o.countTerms("existing", pod.Spec.Affinity)
	o.countVolumes("existing", pod)
	for _, condition := range pod.Status.Conditions {
		o.countIf(condition.Type == v1.PodResizePending, "existing/resize "+condition.Reason)
	}
	for _, s := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
		o.countIf(s.AllocatedResources != nil, "existing/allocated resources")
		o.countIf(s.Resources != nil, "existing/actual resources")
	}
	o.countIf(pod.Status.Resources != nil, "existing/pod-level status")
}

func (o *oracle) countRequests(whose string, pod *v1.Pod) {
	o.countIf(pod.Spec.Resources != nil, whose+"/pod-level resources")
	o.countIf(pod.Spec.Overhead != nil, whose+"/overhead")
	for _, c := range pod.Spec.InitContainers {
		sidecar := c.RestartPolicy != nil && *c.RestartPolicy == v1.ContainerRestartPolicyAlways
		o.countIf(sidecar, whose+"/sidecar")
		o.countIf(!sidecar, whose+"/init container")
	}
	for _, c := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
		o.countIf(len(c.Resources.Requests) == 0, whose+"/container without requests")
		for name, quantity := range c.Resources.Requests {
			class := string(name)
			if strings.HasPrefix(class, v1.ResourceHugePagesPrefix) {
				class = "hugepages"
			} else if strings.Contains(class, "/") {
				class = "extended"
			}
			o.count(whose + "/requests " + class)
			whole := resource.NewQuantity(quantity.Value(), resource.DecimalSI)
			if name == v1.ResourceCPU {
				whole = resource.NewMilliQuantity(quantity.MilliValue(), resource.DecimalSI)
			}
			o.countIf(whole.Cmp(quantity) != 0, whose+"/quantity rounded up")
			o.countIf(quantity.IsZero(), whose+"/explicit zero")
		}
		for _, port := range c.Ports {
			o.countIf(port.HostPort > 0, fmt.Sprintf("%s/host port %q", whose, port.Protocol))
			o.countIf(port.HostPort > 0, fmt.Sprintf("%s/host port of ip %q", whose, port.HostIP))
		}
	}
}

func (o *oracle) countNodeStep(before, after *v1.Node) {
	if before == nil {
		o.count("step/node added")
		return
	}
	o.countIf(before.UID != after.UID, "step/node replaced")
	o.countIf(!maps.Equal(before.Labels, after.Labels), "step/node labels")
	o.countIf(before.Spec.Unschedulable != after.Spec.Unschedulable, "step/node unschedulable")
	o.countIf(!equality.Semantic.DeepEqual(before.Spec.Taints, after.Spec.Taints), "step/node taints")
	o.countIf(!equality.Semantic.DeepEqual(before.Status.Allocatable, after.Status.Allocatable), "step/node allocatable")
	o.countIf(!equality.Semantic.DeepEqual(before.Status.Images, after.Status.Images), "step/node images")
	o.countIf(equality.Semantic.DeepEqual(before, after), "step/node unchanged")
}

func (o *oracle) countPodStep(before, after *v1.Pod) {
	if before == nil {
		o.count("step/pod added")
		return
	}
	o.countIf(before.UID != after.UID, "step/pod replaced")
	o.countIf(before.Spec.NodeName == "" && after.Spec.NodeName != "", "step/pod bound")
	o.countIf(before.Status.Phase != after.Status.Phase, "step/pod phase")
	o.countIf(!maps.Equal(before.Labels, after.Labels), "step/pod labels")
	o.countIf(!equality.Semantic.DeepEqual(before.Spec, after.Spec), "step/pod spec")
	o.countIf(!equality.Semantic.DeepEqual(before.Status, after.Status), "step/pod status")
}

func (o *oracle) countObjectStep(kind string, before, after object) {
	switch {
	case before == nil:
		o.count("step/" + kind + " added")
	case equality.Semantic.DeepEqual(before, after):
		o.count("step/" + kind + " unchanged")
	default:
		o.count("step/" + kind + " changed")
	}
}
