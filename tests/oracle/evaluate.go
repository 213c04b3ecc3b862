package main

import (
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/backend/cache"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

type failure struct {
	Error string `json:"error"`
}

type status struct {
	Code    string   `json:"code"`
	Plugin  string   `json:"plugin,omitempty"`
	Reasons []string `json:"reasons,omitempty"`
	Either  []string `json:"either,omitempty"` // the plugin gives one of these reasons, by chance
}

type score struct {
	Raw      int64 `json:"raw"`
	Weighted int64 `json:"weighted"`
}

type evaluation struct {
	PreFilter status                      `json:"prefilter"`
	Filter    map[string]status           `json:"filter,omitzero"`
	Scored    *bool                       `json:"scored,omitempty"`
	Scores    map[string]map[string]score `json:"scores,omitzero"`
	Totals    map[string]int64            `json:"totals,omitzero"`
	Best      []string                    `json:"best,omitzero"`
}

// statusOf sorts the reasons, because the order of a node's scalar resources is random in the plugin.
func statusOf(s *fwk.Status) status {
	if s.IsSuccess() {
		return status{Code: fwk.Success.String()}
	}
	return status{Code: s.Code().String(), Plugin: s.Plugin(), Reasons: slices.Sorted(slices.Values(s.Reasons()))}
}

// snapshotFor is the cluster without the pod itself, without pods that have ended and without pods on unknown nodes.
func (o *oracle) snapshotFor(pod *v1.Pod) *cache.Snapshot {
	var nodes []*v1.Node
	var pods []*v1.Pod
	for _, node := range o.state.nodes {
		nodes = append(nodes, node)
	}
	for _, other := range o.state.pods {
		_, known := o.state.nodes[other.Spec.NodeName]
		switch {
		case pod.UID != "" && other.UID == pod.UID:
			o.count("state/the pod itself")
		case other.Status.Phase == v1.PodSucceeded || other.Status.Phase == v1.PodFailed:
			o.count("state/ended pod")
		case other.Spec.NodeName == "":
			o.count("state/pending pod")
		case !known:
			o.count("state/pod on an unknown node")
		default:
			o.countExisting(other)
			pods = append(pods, other)
		}
	}
	return cache.NewSnapshot(pods, nodes)
}

// evaluate runs PreFilter once, Filter on every node that PreFilter left, and Score on every node that passed.
// It goes through the framework, not through schedulePod: no sampling of nodes, nominated pods, extenders or PostFilter.
func (o *oracle) evaluate(pod *v1.Pod) (*evaluation, error) {
	if pod.Spec.NodeName != "" && o.alone == "" {
		o.count("pod/bound")
		pod = pod.DeepCopy()
		pod.Spec.NodeName = ""
	}
	o.countPod(pod)
	profile := o.frameworkFor(pod.Spec.SchedulerName)
	o.snapshot.SharedLister = o.snapshotFor(pod)
	if err := o.put(o.state.others); err != nil {
		return nil, err
	}
	all, err := o.snapshot.NodeInfos().List()
	if err != nil {
		return nil, err
	}
	cycle := framework.NewCycleState()

	result, s, contributing := profile.RunPreFilterPlugins(o.ctx, cycle, pod)
	if !s.IsSuccess() && !s.IsRejected() {
		return nil, s.AsError()
	}
	answer := &evaluation{PreFilter: statusOf(s)}
	o.countStatus("prefilter", answer.PreFilter)
	if !s.IsSuccess() {
		return answer, nil
	}
	o.countAll("prefilter/Skip/", cycle.GetSkipFilterPlugins())
	feasible, err := o.filter(answer, profile, cycle, pod, all, result, contributing)
	if err != nil {
		return nil, err
	}
	return answer, o.score(answer, profile, cycle, pod, feasible)
}

func (o *oracle) filter(answer *evaluation, profile framework.Framework, cycle fwk.CycleState, pod *v1.Pod, all []fwk.NodeInfo,
	result *fwk.PreFilterResult, contributing sets.Set[string]) (feasible []fwk.NodeInfo, err error) {
	answer.Filter = map[string]status{}
	outside := fwk.NewStatus(fwk.UnschedulableAndUnresolvable, fmt.Sprintf("node(s) didn't satisfy plugin(s) %v", sets.List(contributing)))
	for _, node := range all {
		name, s := node.Node().Name, outside
		if result.AllNodes() || result.NodeNames.Has(name) {
			s = profile.RunFilterPlugins(o.ctx, cycle, pod, node)
			o.countFilterBranches(pod, node, statusOf(s))
		}
		if !s.IsSuccess() && !s.IsRejected() {
			return nil, s.AsError()
		}
		if s.IsSuccess() {
			feasible = append(feasible, node)
		}
		verdict := statusOf(s)
		o.countStatus("filter", verdict)
		if verdict.Plugin == "NodeVolumeLimits" {
			verdict.Either = either(verdict, func() status { return statusOf(profile.RunFilterPlugins(o.ctx, cycle, pod, node)) })
			if len(verdict.Either) > 0 {
				verdict.Reasons = verdict.Either[:1]
			}
		}
		answer.Filter[name] = verdict
	}
	return feasible, nil
}

// either asks again, because of several drivers that a node lacks NodeVolumeLimits tells of the one that comes first in a map.
// With two of them, one time in 2^40 one stays untold.
func either(first status, again func() status) []string {
	found := sets.New(first.Reasons...)
	if !strings.HasSuffix(first.Reasons[0], "CSI driver is not installed on the node") {
		return nil
	}
	for range 40 {
		found.Insert(again().Reasons...)
	}
	if len(found) == 1 {
		return nil
	}
	return sets.List(found)
}

func (o *oracle) score(answer *evaluation, profile framework.Framework, cycle fwk.CycleState, pod *v1.Pod, feasible []fwk.NodeInfo) error {
	o.count(fmt.Sprintf("feasible/%s", []string{"0", "1", "more"}[min(len(feasible), 2)]))
	answer.Scores, answer.Totals, answer.Best = map[string]map[string]score{}, map[string]int64{}, []string{}
	if len(feasible) == 0 {
		return nil
	}
	if len(feasible) == 1 {
		answer.Scored = new(bool)
		answer.Best = []string{feasible[0].Node().Name}
	}
	var nodes []fwk.NodePluginScores
	s := profile.RunPreScorePlugins(o.ctx, cycle, pod, feasible)
	if s.IsSuccess() {
		nodes, s = profile.RunScorePlugins(o.ctx, cycle, pod, feasible)
	}
	if !s.IsSuccess() && len(feasible) == 1 {
		// kube-scheduler never scores a single node, so its scores are missing here and nothing has failed.
		o.count("score/single node cannot be scored")
		return nil
	} else if !s.IsSuccess() {
		return s.AsError()
	}
	o.countAll("prescore/Skip/", cycle.GetSkipScorePlugins())
	best := nodes[0].TotalScore
	for _, node := range nodes {
		answer.Scores[node.Name] = map[string]score{}
		for i, plugin := range node.Scores {
			answer.Scores[node.Name][plugin.Name] = score{Raw: node.RawScores[i].Score, Weighted: plugin.Score}
		}
		answer.Totals[node.Name] = node.TotalScore
		best = max(best, node.TotalScore)
	}
	answer.Best = []string{}
	for name, total := range answer.Totals {
		if total == best {
			answer.Best = append(answer.Best, name)
		}
	}
	slices.Sort(answer.Best)
	o.countScores(profile.ProfileName(), answer)
	o.countScoresBeyond(pod, answer)
	o.countScoreBranches(profile.ProfileName(), pod, feasible, answer)
	return nil
}

// Errors of one plugin at one point that have causes of their own.
var causes = []string{"PersistentVolumeClaim had no name", "was not created for", "VolumeBindingMode not set"}

// errorSource keeps what tells errors of a cycle apart: the point, the plugin, and which of several causes.
func errorSource(err error) string {
	words := strings.Split(err.Error(), ": ")
	for _, cause := range causes {
		if strings.Contains(err.Error(), cause) {
			return words[0] + ": " + cause
		}
	}
	if len(words) > 1 && strings.HasPrefix(words[1], "plugin ") {
		plugin, _, _ := strings.Cut(words[1], " returns ")
		return words[0] + ": " + plugin
	}
	return words[0]
}
