package main

import (
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	storagehelpers "k8s.io/component-helpers/storage/volume"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
)

// describeBeyond lists what a profile's arguments mean to the plugins that look beyond the node.
func describeBeyond(p *config.KubeSchedulerProfile) (described []string) {
	for _, c := range p.PluginConfig {
		switch args := c.Args.(type) {
		case *config.PodTopologySpreadArgs:
			described = append(described, fmt.Sprintf("config/spread defaults %s", args.DefaultingType))
			for _, constraint := range args.DefaultConstraints {
				described = append(described, fmt.Sprintf("config/spread default %s", constraint.WhenUnsatisfiable))
			}
		case *config.InterPodAffinityArgs:
			described = append(described, fmt.Sprintf("config/hardPodAffinityWeight %d", min(args.HardPodAffinityWeight, 2)))
			if args.IgnorePreferredTermsOfExistingPods {
				described = append(described, "config/ignorePreferredTermsOfExistingPods")
			}
		case *config.VolumeBindingArgs:
			described = append(described, fmt.Sprintf("config/VolumeBinding shape of %d points", len(args.Shape)))
		}
	}
	return described
}

func (o *oracle) countConstraints(pod *v1.Pod) {
	o.countIf(len(pod.Spec.TopologySpreadConstraints) > 1, "spread/several constraints")
	for _, c := range pod.Spec.TopologySpreadConstraints {
		o.count("spread/" + string(c.WhenUnsatisfiable))
		o.count("spread/selector " + kindOfSelector(c.LabelSelector))
		o.countIf(c.MinDomains != nil, "spread/minDomains")
		o.countIf(len(c.MatchLabelKeys) > 0, "spread/matchLabelKeys")
		if c.NodeAffinityPolicy != nil {
			o.count("spread/nodeAffinityPolicy " + string(*c.NodeAffinityPolicy))
		}
		if c.NodeTaintsPolicy != nil {
			o.count("spread/nodeTaintsPolicy " + string(*c.NodeTaintsPolicy))
		}
	}
	o.countIf(len(pod.OwnerReferences) > 0 && metav1.GetControllerOf(pod) == nil, "spread/owner that does not control")
	if owner := metav1.GetControllerOf(pod); owner != nil {
		switch kind := owner.APIVersion + " " + owner.Kind; kind {
		case "v1 ReplicationController", "apps/v1 ReplicaSet", "apps/v1 StatefulSet":
			o.count("spread/controller " + kind)
		default:
			known := slices.Contains([]string{"ReplicationController", "ReplicaSet", "StatefulSet"}, owner.Kind)
			o.countIf(known, "spread/controller of another group or version")
			o.countIf(!known, "spread/controller of another kind")
		}
	}
}

// countFeatures says which rules find that a pod needs a feature of its node.
func (o *oracle) countFeatures(pod *v1.Pod) {
	restarts, mounts := false, false
	for _, c := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
		for _, rule := range c.RestartPolicyRules {
			restarts = restarts || rule.Action == v1.ContainerRestartRuleActionRestartAllContainers
		}
		for _, mount := range c.VolumeMounts {
			mounts = mounts || len(mount.BindMountOptions) > 0
		}
	}
	for _, c := range pod.Spec.EphemeralContainers {
		for _, mount := range c.VolumeMounts {
			o.countIf(len(mount.BindMountOptions) > 0, "feature/bind mount options of an ephemeral container")
		}
	}
	o.countIf(restarts, "feature/restart of all containers")
	o.countIf(mounts, "feature/bind mount options")
	o.countIf(pod.Spec.HostNetwork && pod.Spec.HostUsers != nil && !*pod.Spec.HostUsers, "feature/user namespace on the host's network")
}

func kindOfSelector(s *metav1.LabelSelector) string {
	_, err := metav1.LabelSelectorAsSelector(s)
	switch {
	case s == nil:
		return "nil"
	case err != nil:
		return "cannot be parsed"
	case len(s.MatchLabels) == 0 && len(s.MatchExpressions) == 0:
		return "empty"
	case len(s.MatchExpressions) == 0:
		return "labels"
	}
	return string(s.MatchExpressions[0].Operator)
}

func (o *oracle) countTerms(whose string, affinity *v1.Affinity) {
	if affinity == nil {
		return
	}
	if a := affinity.PodAffinity; a != nil {
		o.countIf(len(a.RequiredDuringSchedulingIgnoredDuringExecution) > 1, whose+" affinity/several required")
		o.countPodTerms(whose+" affinity/required", a.RequiredDuringSchedulingIgnoredDuringExecution)
		o.countPodTerms(whose+" affinity/preferred", unweighted(a.PreferredDuringSchedulingIgnoredDuringExecution))
	}
	if a := affinity.PodAntiAffinity; a != nil {
		o.countPodTerms(whose+" anti-affinity/required", a.RequiredDuringSchedulingIgnoredDuringExecution)
		o.countPodTerms(whose+" anti-affinity/preferred", unweighted(a.PreferredDuringSchedulingIgnoredDuringExecution))
	}
}

func unweighted(weighted []v1.WeightedPodAffinityTerm) (terms []v1.PodAffinityTerm) {
	for _, w := range weighted {
		terms = append(terms, w.PodAffinityTerm)
	}
	return terms
}

func (o *oracle) countPodTerms(kind string, terms []v1.PodAffinityTerm) {
	for _, term := range terms {
		o.count(kind)
		o.countIf(term.LabelSelector == nil, kind+" selector nil")
		o.countIf(len(term.Namespaces) > 0, kind+" namespaces")
		if term.NamespaceSelector != nil {
			o.count(kind + " namespaceSelector " + kindOfSelector(term.NamespaceSelector))
		}
	}
}

// countVolumes says what kinds of volumes a pod has, and in which of VolumeBinding's classes its claims are.
func (o *oracle) countVolumes(whose string, pod *v1.Pod) {
	for _, volume := range pod.Spec.Volumes {
		claim := ""
		switch s := volume.VolumeSource; {
		case s.PersistentVolumeClaim != nil:
			claim = s.PersistentVolumeClaim.ClaimName
		case s.Ephemeral != nil:
			claim = pod.Name + "-" + volume.Name
			o.count(whose + " volume/ephemeral")
		case s.GCEPersistentDisk != nil:
			o.count(whose + " volume/GCE")
		case s.AWSElasticBlockStore != nil:
			o.count(whose + " volume/EBS")
		case s.ISCSI != nil:
			o.count(whose + " volume/ISCSI")
		case s.RBD != nil:
			o.count(whose + " volume/RBD")
		case s.AzureDisk != nil, s.AzureFile != nil, s.Cinder != nil, s.VsphereVolume != nil, s.PortworxVolume != nil:
			o.count(whose + " volume/other that a CSI driver serves")
		case s.CSI != nil:
			o.count(whose + " volume/inline CSI")
		}
		if claim != "" {
			o.count(whose + " claim/" + o.classOf(pod.Namespace, claim))
		}
	}
}

func (o *oracle) classOf(namespace, name string) string {
	one, known := o.state.others["PersistentVolumeClaim"][keyOf(namespace, name)]
	if !known {
		return "missing"
	}
	claim := one.(*v1.PersistentVolumeClaim)
	class, found := o.state.others["StorageClass"][storagehelpers.GetPersistentVolumeClaimClass(claim)]
	_, completed := claim.Annotations[storagehelpers.AnnBindCompleted]
	switch {
	case claim.Spec.VolumeName != "" && completed:
		volume, there := o.state.others["PersistentVolume"][claim.Spec.VolumeName]
		switch {
		case !there:
			return "bound to a volume that is missing"
		case volume.(*v1.PersistentVolume).Spec.CSI != nil:
			return "bound to CSI"
		case volume.(*v1.PersistentVolume).Spec.Local != nil:
			return "bound to local"
		}
		return "bound in-tree"
	case claim.Spec.VolumeName != "":
		return "prebound"
	case !found:
		return "without a class"
	case class.(*storagev1.StorageClass).VolumeBindingMode == nil:
		return "of a class without mode"
	case *class.(*storagev1.StorageClass).VolumeBindingMode == storagev1.VolumeBindingImmediate:
		return "immediate"
	}
	_, selected := claim.Annotations[storagehelpers.AnnSelectedNode]
	if selected {
		return "delayed with a selected node"
	}
	return "delayed " + class.(*storagev1.StorageClass).Provisioner
}

// countScoresBeyond tells apart where the scores of pods come from, and what normalisation makes of them.
func (o *oracle) countScoresBeyond(pod *v1.Pod, answer *evaluation) {
	own := len(pod.Spec.TopologySpreadConstraints) > 0
	terms := pod.Spec.Affinity != nil && (pod.Spec.Affinity.PodAffinity != nil || pod.Spec.Affinity.PodAntiAffinity != nil)
	for _, plugins := range answer.Scores {
		if s, scored := plugins["PodTopologySpread"]; scored {
			o.countIf(own, "score/PodTopologySpread/own constraints")
			o.countIf(!own, "score/PodTopologySpread/default constraints")
			o.countIf(s.Weighted == 0, "score/PodTopologySpread/final 0")
			o.countIf(s.Weighted > 0 && s.Raw > 0, "score/PodTopologySpread/final above 0")
		}
		if s, scored := plugins["InterPodAffinity"]; scored {
			o.countIf(terms, "score/InterPodAffinity/own terms")
			o.countIf(!terms, "score/InterPodAffinity/terms of other pods only")
			o.countIf(s.Weighted > 0, "score/InterPodAffinity/final above 0")
		}
	}
}
