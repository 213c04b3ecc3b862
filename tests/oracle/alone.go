package main

import (
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

// A line with "alone" asks one plugin what another step of the pipeline answers first. Its configuration enables that plugin
// only, and the pod keeps its spec.nodeName. Two plugins that have a say before any node is looked at are called by name.
func (o *oracle) evaluateAlone(plugin string, pod *v1.Pod) (*evaluation, error) {
	profile := o.frameworkFor(pod.Spec.SchedulerName)
	switch plugin {
	case "SchedulingGates":
		for _, gate := range profile.PreEnqueuePlugins() {
			if gate.Name() == plugin {
				answer := &evaluation{PreFilter: statusOf(gate.PreEnqueue(o.ctx, pod))}
				if answer.PreFilter.Code != "Success" {
					answer.PreFilter.Plugin = plugin // the framework says whose status it is
				}
				o.countStatus("preenqueue", answer.PreFilter)
				return answer, nil
			}
		}
		return nil, fmt.Errorf("%s is not enabled", plugin)
	case "PrioritySort":
		return o.sorted(profile), nil
	}
	return o.evaluate(pod)
}

// sorted gives the state's pods in the order of the queue, each as if it had come there at its creation.
func (o *oracle) sorted(profile framework.Framework) *evaluation {
	var queued []*framework.QueuedPodInfo
	for _, pod := range o.state.pods {
		queued = append(queued, &framework.QueuedPodInfo{
			PodInfo:        &framework.PodInfo{Pod: pod},
			QueueingParams: framework.QueueingParams{Timestamp: pod.CreationTimestamp.Time},
		})
	}
	less := profile.QueueSortFunc()
	slices.SortFunc(queued, func(a, b *framework.QueuedPodInfo) int { return strings.Compare(a.Pod.Name, b.Pod.Name) })
	slices.SortStableFunc(queued, func(a, b *framework.QueuedPodInfo) int {
		switch {
		case less(a, b):
			return -1
		case less(b, a):
			return 1
		}
		return 0
	})
	answer := &evaluation{PreFilter: status{Code: "Success"}}
	for i, one := range queued {
		answer.Best = append(answer.Best, one.Pod.Name)
		if i > 0 {
			before := queued[i-1]
			o.countIf(before.GetPriority() > one.GetPriority(), "sort/by priority")
			o.countIf(before.GetPriority() == one.GetPriority() && before.Timestamp.Before(one.Timestamp), "sort/by time")
			o.countIf(before.GetPriority() == one.GetPriority() && before.Timestamp.Equal(one.Timestamp), "sort/alike")
		}
	}
	return answer
}

// aloneCounts keeps what a plugin alone has answered, apart from what the whole pipeline answers.
func aloneCounts(counts map[string]int) map[string]int {
	kept := map[string]int{}
	for what, count := range counts {
		for _, prefix := range []string{"preenqueue/", "prefilter/", "filter/", "prescore/", "score/", "error/", "sort/"} {
			if strings.HasPrefix(what, prefix) {
				kept["alone/"+what] = count
			}
		}
	}
	return kept
}
