package main

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/labels"
	resourcehelper "k8s.io/component-helpers/resource"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	schedutil "k8s.io/kubernetes/pkg/scheduler/util"
)

// What a container that does not ask counts for (kube-scheduler: DefaultMilliCPURequest, DefaultMemoryRequest).
var (
	defaultCPU    = resource.NewMilliQuantity(schedutil.DefaultMilliCPURequest, resource.DecimalSI)
	defaultMemory = resource.NewQuantity(schedutil.DefaultMemoryRequest, resource.DecimalSI)
)

// branchArgs is what of a profile's arguments tells branches of its scores apart.
type branchArgs struct {
	fit       *config.NodeResourcesFitArgs
	balanced  *config.NodeResourcesBalancedAllocationArgs
	preferred bool // addedAffinity has preferred terms
}

func branchArgsOf(p *config.KubeSchedulerProfile) (made branchArgs) {
	for _, c := range p.PluginConfig {
		switch args := c.Args.(type) {
		case *config.NodeResourcesFitArgs:
			made.fit = args
		case *config.NodeResourcesBalancedAllocationArgs:
			made.balanced = args
		case *config.NodeAffinityArgs:
			made.preferred = args.AddedAffinity != nil && len(args.AddedAffinity.PreferredDuringSchedulingIgnoredDuringExecution) > 0
		}
	}
	return made
}

// countScoreBranches says which parts of the rules a scored node went through. It reads state and scores only.
func (o *oracle) countScoreBranches(profileName string, pod *v1.Pod, feasible []fwk.NodeInfo, answer *evaluation) {
	args := o.profiles.args[profileName]
	info, err := framework.NewPodInfo(pod)
	if err != nil {
		return
	}
	for _, node := range feasible {
		for plugin, s := range answer.Scores[node.Node().Name] {
			switch plugin {
			case "TaintToleration":
				o.countTaintBranches(pod, node.Node(), s)
			case "NodeAffinity":
				affinity := pod.Spec.Affinity
				own := affinity != nil && affinity.NodeAffinity != nil && len(affinity.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution) > 0
				o.countIf(own && args.preferred && s.Raw > 0, "branch/NodeAffinity scores with terms of pod and profile")
				o.countIf(own && !args.preferred && s.Raw > 0, "branch/NodeAffinity scores with terms of the pod")
				o.countIf(!own && s.Raw > 0, "branch/NodeAffinity scores with terms of the profile")
			case "NodeResourcesFit":
				o.countFitBranches(pod, node, args.fit)
			case "NodeResourcesBalancedAllocation":
				o.countBalancedBranches(pod, node, args.balanced)
			case "ImageLocality":
				o.countImageBranches(pod, node, s)
			case "PodTopologySpread":
				o.countSpreadBranches(pod, node.Node(), s)
			case "VolumeBinding":
				o.countStorageScore(pod, s)
			}
		}
	}
	if _, scored := answer.Scores[feasible[0].Node().Name]["InterPodAffinity"]; scored {
		o.countPreferences(info)
	}
}

func (o *oracle) countTaintBranches(pod *v1.Pod, node *v1.Node, s score) {
	o.countIf(s.Raw == 1, "branch/TaintToleration scores one taint")
	o.countIf(s.Raw > 1, "branch/TaintToleration scores several taints")
	for _, taint := range node.Spec.Taints {
		if taint.Effect != v1.TaintEffectPreferNoSchedule {
			continue
		}
		for _, t := range pod.Spec.Tolerations {
			matches := (t.Key == "" || t.Key == taint.Key) && (t.Operator == v1.TolerationOpExists || t.Value == taint.Value)
			o.countIf(matches && t.Effect == v1.TaintEffectPreferNoSchedule, "branch/TaintToleration scores by a toleration of the effect")
			o.countIf(matches && t.Effect == "", "branch/TaintToleration scores by a toleration of every effect")
			o.countIf(matches && t.Effect == v1.TaintEffectNoSchedule, "branch/TaintToleration scores beside a toleration of another effect")
		}
	}
}

// amounts gives what a node has of a resource and what its pods use of it, as the resource's score counts it.
func amounts(node fwk.NodeInfo, name v1.ResourceName, used fwk.Resource) (allocatable, requested int64) {
	all := node.GetAllocatable()
	switch name {
	case v1.ResourceCPU:
		return all.GetMilliCPU(), used.GetMilliCPU()
	case v1.ResourceMemory:
		return all.GetMemory(), used.GetMemory()
	case v1.ResourceEphemeralStorage:
		return all.GetEphemeralStorage(), node.GetRequested().GetEphemeralStorage()
	}
	return all.GetScalarResources()[name], node.GetRequested().GetScalarResources()[name]
}

func quantityOf(list v1.ResourceList, name v1.ResourceName) int64 {
	quantity := list[name]
	if name == v1.ResourceCPU {
		return quantity.MilliValue()
	}
	return quantity.Value()
}

func (o *oracle) countFitBranches(pod *v1.Pod, node fwk.NodeInfo, args *config.NodeResourcesFitArgs) {
	if args == nil {
		return
	}
	defaults := v1.ResourceList{v1.ResourceCPU: *defaultCPU, v1.ResourceMemory: *defaultMemory}
	requests := resourcehelper.PodRequests(pod, resourcehelper.PodResourcesOptions{NonMissingContainerRequests: defaults, SkipPodLevelResources: true})
	counted, kind := 0, string(args.ScoringStrategy.Type)
	for _, spec := range args.ScoringStrategy.Resources {
		name := v1.ResourceName(spec.Name)
		allocatable, used := amounts(node, name, node.GetNonZeroRequested())
		wanted := quantityOf(requests, name)
		switch {
		case wanted == 0 && schedutil.IsScalarResourceName(name):
			o.count("branch/NodeResourcesFit scores without a scalar that is not asked for")
			continue
		case allocatable == 0:
			o.count("branch/NodeResourcesFit scores without a resource that the node lacks")
			continue
		case used+wanted > allocatable:
			o.count("branch/NodeResourcesFit " + kind + " of more than there is")
		case used+wanted == allocatable:
			o.count("branch/NodeResourcesFit " + kind + " of all there is")
		default:
			o.count("branch/NodeResourcesFit " + kind + " of a part")
		}
		counted++
	}
	o.countIf(counted == 0, "branch/NodeResourcesFit scores no resource at all")
	o.countIf(counted > 2, "branch/NodeResourcesFit scores more than two resources")
}

func (o *oracle) countBalancedBranches(pod *v1.Pod, node fwk.NodeInfo, args *config.NodeResourcesBalancedAllocationArgs) {
	if args == nil {
		return
	}
	requests := resourcehelper.PodRequests(pod, resourcehelper.PodResourcesOptions{UseStatusResources: true})
	counted := 0
	for _, spec := range args.Resources {
		name := v1.ResourceName(spec.Name)
		allocatable, used := amounts(node, name, node.GetRequested())
		wanted := quantityOf(requests, name)
		if allocatable == 0 || wanted == 0 && schedutil.IsScalarResourceName(name) {
			continue
		}
		counted++
		o.countIf(used+wanted > allocatable, "branch/NodeResourcesBalancedAllocation cuts a fraction above 1")
	}
	o.count(fmt.Sprintf("branch/NodeResourcesBalancedAllocation of %d counted resources", min(counted, 3)))
}

func (o *oracle) countImageBranches(pod *v1.Pod, node fwk.NodeInfo, s score) {
	images := len(pod.Spec.InitContainers) + len(pod.Spec.Containers)
	present := len(node.GetImageStates()) > 0
	o.countIf(s.Raw > 0 && images == 1, "branch/ImageLocality scores one image")
	o.countIf(s.Raw > 0 && images > 1, "branch/ImageLocality scores several images")
	o.countIf(s.Raw > 0 && len(pod.Spec.InitContainers) > 0, "branch/ImageLocality scores with init containers")
	o.countIf(s.Raw == 0 && present, "branch/ImageLocality scores 0 on a node with images")
	for _, volume := range pod.Spec.Volumes {
		o.countIf(volume.Image != nil && s.Raw > 0, "branch/ImageLocality scores with a volume's image")
	}
}

func (o *oracle) countSpreadBranches(pod *v1.Pod, node *v1.Node, s score) {
	own := false
	for _, c := range pod.Spec.TopologySpreadConstraints {
		if c.WhenUnsatisfiable != v1.ScheduleAnyway {
			continue
		}
		own = true
		_, has := node.Labels[c.TopologyKey]
		o.countIf(!has, "branch/PodTopologySpread ignores a node without the key")
		o.countIf(has && c.TopologyKey == v1.LabelHostname, "branch/PodTopologySpread scores by host")
		o.countIf(has && c.TopologyKey != v1.LabelHostname, "branch/PodTopologySpread scores by domain")
		o.countIf(s.Raw > 0 && c.NodeTaintsPolicy != nil, "branch/PodTopologySpread scores with nodeTaintsPolicy")
		o.countIf(s.Raw > 0 && c.NodeAffinityPolicy != nil, "branch/PodTopologySpread scores with nodeAffinityPolicy")
		o.countIf(s.Raw > 0 && len(c.MatchLabelKeys) > 0, "branch/PodTopologySpread scores with matchLabelKeys")
	}
	_, zoned := node.Labels[v1.LabelTopologyZone]
	o.countIf(!own && zoned, "branch/PodTopologySpread scores by default in a zone")
	o.countIf(!own && !zoned, "branch/PodTopologySpread scores by default without a zone")
	o.countIf(s.Raw == 0 && s.Weighted > 0, "branch/PodTopologySpread gives all for nothing to spread from")
}

func (o *oracle) countStorageScore(pod *v1.Pod, s score) {
	static, dynamic, classes := 0, 0, map[string]bool{}
	for _, claim := range o.claimsOf(pod) {
		class := o.storageClass(claim)
		if claim.Spec.VolumeName != "" || class == nil {
			continue
		}
		classes[class.Name] = true
		if class.Provisioner == "" || class.Provisioner == "kubernetes.io/no-provisioner" {
			static++
		} else {
			dynamic++
		}
	}
	o.countIf(static > 0 && s.Raw > 0, "branch/VolumeBinding scores static volumes")
	o.countIf(static == 0 && dynamic > 0 && s.Raw > 0, "branch/VolumeBinding scores capacity to provision")
	o.countIf(static > 0 && dynamic > 0, "branch/VolumeBinding scores static beside dynamic volumes")
	o.countIf(len(classes) > 1 && s.Raw > 0, "branch/VolumeBinding scores several classes")
	o.countIf(static+dynamic > 1 && len(classes) == 1 && s.Raw > 0, "branch/VolumeBinding scores several claims of a class")
	o.countIf(static+dynamic == 0 && len(o.claimsOf(pod)) > 0, "branch/VolumeBinding scores bound claims 0")
}

// countPreferences counts each kind of term that gives or takes points, by pod of the cluster that it meets.
func (o *oracle) countPreferences(info *framework.PodInfo) {
	pod, namespace := info.Pod, o.namespaceLabels(info.Pod.Namespace)
	nodes, err := o.snapshot.NodeInfos().List()
	if err != nil {
		return
	}
	meets := func(term fwk.AffinityTerm, node *v1.Node, other *v1.Pod, labelsOf labels.Set, what string) {
		_, has := node.Labels[term.TopologyKey]
		o.countIf(has && term.Matches(other, labelsOf), "branch/InterPodAffinity scores "+what)
	}
	for _, node := range nodes {
		for _, other := range node.GetPods() {
			home := o.namespaceLabels(other.GetPod().Namespace)
			for _, term := range info.GetPreferredAffinityTerms() {
				meets(term.AffinityTerm, node.Node(), other.GetPod(), home, "a pod that it prefers")
			}
			for _, term := range info.GetPreferredAntiAffinityTerms() {
				meets(term.AffinityTerm, node.Node(), other.GetPod(), home, "a pod that it avoids")
			}
			for _, term := range other.GetRequiredAffinityTerms() {
				meets(term, node.Node(), pod, namespace, "a pod that requires it")
			}
			for _, term := range other.GetPreferredAffinityTerms() {
				meets(term.AffinityTerm, node.Node(), pod, namespace, "a pod that prefers it")
			}
			for _, term := range other.GetPreferredAntiAffinityTerms() {
				meets(term.AffinityTerm, node.Node(), pod, namespace, "a pod that avoids it")
			}
		}
	}
}
