package main

import (
	"cmp"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/labels"
	storagehelpers "k8s.io/component-helpers/storage/volume"
	fwk "k8s.io/kube-scheduler/framework"
	corehelper "k8s.io/kubernetes/pkg/apis/core/v1/helper"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	schedutil "k8s.io/kubernetes/pkg/scheduler/util"
)

// countFilterBranches says for which of several causes a node was refused with one and the same reason, and which rules let
// it pass although they had something to look at. It reads state and verdict only: the verdict itself is the plugins'.
func (o *oracle) countFilterBranches(pod *v1.Pod, node fwk.NodeInfo, s status) {
	passed := s.Code == "Success"
	if s.Plugin == "NodePorts" || passed {
		o.countPortBranches(pod, node, passed)
	}
	if s.Plugin == "VolumeRestrictions" || passed {
		o.countDiskBranches(pod, node, passed)
	}
	if s.Plugin == "VolumeBinding" || passed {
		o.countBindingBranches(pod, node.Node(), s)
	}
	if s.Plugin == "PodTopologySpread" {
		own := pod.Spec.TopologySpreadConstraints
		o.countIf(len(own) == 0, "branch/PodTopologySpread refuses by default constraints")
		for _, c := range own {
			if hard := c.WhenUnsatisfiable == v1.DoNotSchedule; hard && s.Code == "Unschedulable" {
				o.count("branch/PodTopologySpread refuses by own constraints")
				o.countIf(c.MinDomains != nil && *c.MinDomains > 1, "branch/PodTopologySpread refuses with minDomains")
				o.countIf(len(c.MatchLabelKeys) > 0, "branch/PodTopologySpread refuses with matchLabelKeys")
				o.countIf(c.NodeAffinityPolicy != nil, "branch/PodTopologySpread refuses with nodeAffinityPolicy")
				o.countIf(c.NodeTaintsPolicy != nil, "branch/PodTopologySpread refuses with nodeTaintsPolicy")
			}
		}
	}
	if s.Plugin == "InterPodAffinity" || passed {
		o.countAffinityBranches(pod, node.Node(), s)
	}
	if s.Plugin == "VolumeZone" || passed {
		o.countZoneBranches(pod, node.Node(), passed)
	}
}

func (o *oracle) countPortBranches(pod *v1.Pod, node fwk.NodeInfo, passed bool) {
	for _, wanted := range schedutil.GetHostPorts(pod) {
		address, protocol := cmp.Or(wanted.HostIP, "0.0.0.0"), cmp.Or(string(wanted.Protocol), "TCP")
		for used, ports := range node.GetUsedPorts() {
			for port := range ports {
				if port.Port != wanted.HostPort {
					continue
				}
				switch {
				case passed && port.Protocol != protocol:
					o.count("branch/NodePorts passes beside another protocol")
				case passed && used != address:
					o.count("branch/NodePorts passes beside another address")
				case passed || port.Protocol != protocol:
				case used == address:
					o.count("branch/NodePorts refuses the same address")
				case address == "0.0.0.0":
					o.count("branch/NodePorts refuses all addresses beside one")
				case used == "0.0.0.0":
					o.count("branch/NodePorts refuses one address beside all")
				}
			}
		}
	}
}

// countDiskBranches pairs the pod's disks with those of the node's pods.
func (o *oracle) countDiskBranches(pod *v1.Pod, node fwk.NodeInfo, passed bool) {
	for _, one := range pod.Spec.Volumes {
		for _, other := range node.GetPods() {
			for _, two := range other.GetPod().Spec.Volumes {
				kind, readOnly := sameDisk(one.VolumeSource, two.VolumeSource)
				o.countIf(kind != "" && passed && readOnly, "branch/VolumeRestrictions passes a shared "+kind+" that is only read")
				o.countIf(kind != "" && !passed && !readOnly, "branch/VolumeRestrictions refuses a shared "+kind)
			}
		}
	}
}

func sameDisk(one, two v1.VolumeSource) (kind string, readOnly bool) {
	switch {
	case one.GCEPersistentDisk != nil && two.GCEPersistentDisk != nil && one.GCEPersistentDisk.PDName == two.GCEPersistentDisk.PDName:
		return "GCE", one.GCEPersistentDisk.ReadOnly && two.GCEPersistentDisk.ReadOnly
	case one.AWSElasticBlockStore != nil && two.AWSElasticBlockStore != nil && one.AWSElasticBlockStore.VolumeID == two.AWSElasticBlockStore.VolumeID:
		return "EBS", false
	case one.ISCSI != nil && two.ISCSI != nil && one.ISCSI.IQN == two.ISCSI.IQN:
		return "ISCSI", one.ISCSI.ReadOnly && two.ISCSI.ReadOnly
	case one.RBD != nil && two.RBD != nil && one.RBD.RBDPool == two.RBD.RBDPool && one.RBD.RBDImage == two.RBD.RBDImage:
		overlap := slices.ContainsFunc(one.RBD.CephMonitors, func(m string) bool { return slices.Contains(two.RBD.CephMonitors, m) })
		if overlap {
			return "RBD", one.RBD.ReadOnly && two.RBD.ReadOnly
		}
	}
	return "", false
}

func (o *oracle) claimsOf(pod *v1.Pod) (claims []*v1.PersistentVolumeClaim) {
	for _, volume := range pod.Spec.Volumes {
		name := ""
		if volume.PersistentVolumeClaim != nil {
			name = volume.PersistentVolumeClaim.ClaimName
		} else if volume.Ephemeral != nil {
			name = pod.Name + "-" + volume.Name
		}
		if one, known := o.state.others["PersistentVolumeClaim"][keyOf(pod.Namespace, name)]; known {
			claims = append(claims, one.(*v1.PersistentVolumeClaim))
		}
	}
	return claims
}

func (o *oracle) storageClass(claim *v1.PersistentVolumeClaim) *storagev1.StorageClass {
	found, _ := o.state.others["StorageClass"][storagehelpers.GetPersistentVolumeClaimClass(claim)].(*storagev1.StorageClass)
	return found
}

func (o *oracle) countBindingBranches(pod *v1.Pod, node *v1.Node, s status) {
	noVolume := slices.Contains(s.Reasons, "node(s) didn't find available persistent volumes to bind")
	noRoom := slices.Contains(s.Reasons, "node(s) did not have enough free storage")
	o.countIf(len(s.Reasons) > 1 && s.Plugin == "VolumeBinding", "branch/VolumeBinding refuses for several reasons")
	for _, claim := range o.claimsOf(pod) {
		class := o.storageClass(claim)
		if claim.Spec.VolumeName != "" || class == nil {
			continue
		}
		selected, chosen := claim.Annotations[storagehelpers.AnnSelectedNode]
		elsewhere := chosen && selected != node.Name
		provisions := class.Provisioner != "" && class.Provisioner != "kubernetes.io/no-provisioner"
		inTopology := corehelper.MatchTopologySelectorTerms(class.AllowedTopologies, node.Labels)
		driver, _ := o.state.others["CSIDriver"][class.Provisioner].(*storagev1.CSIDriver)
		tracked := driver != nil && driver.Spec.StorageCapacity != nil && *driver.Spec.StorageCapacity
		_, asks := claim.Spec.Resources.Requests[v1.ResourceStorage]
		switch {
		case noVolume && elsewhere:
			o.count("branch/VolumeBinding refuses for another selected node")
		case noVolume && class.Provisioner == "":
			o.count("branch/VolumeBinding refuses without a provisioner")
		case noVolume && !provisions:
			o.count("branch/VolumeBinding refuses with no-provisioner")
		case noVolume && !inTopology:
			o.count("branch/VolumeBinding refuses outside of allowedTopologies")
		case noRoom && provisions && tracked:
			o.countCapacityBranch(class.Name, node)
		case s.Code != "Success":
		case !provisions:
			o.count("branch/VolumeBinding passes with a static volume")
		case chosen:
			o.count("branch/VolumeBinding passes on the selected node")
		case driver == nil:
			o.count("branch/VolumeBinding passes without a CSIDriver")
		case !tracked:
			o.count("branch/VolumeBinding passes without tracked capacity")
		case !asks:
			o.count("branch/VolumeBinding passes without a requested size")
		default:
			o.count("branch/VolumeBinding passes with capacity or a volume")
		}
		o.countIf(s.Code == "Success" && len(class.AllowedTopologies) > 0, "branch/VolumeBinding passes within allowedTopologies")
	}
}

func (o *oracle) countCapacityBranch(class string, node *v1.Node) {
	for _, one := range o.state.others["CSIStorageCapacity"] {
		capacity := one.(*storagev1.CSIStorageCapacity)
		switch {
		case capacity.StorageClassName != class:
		case capacity.NodeTopology == nil:
			o.count("branch/VolumeBinding refuses beside capacity without a topology")
		case capacity.Capacity == nil:
			o.count("branch/VolumeBinding refuses beside capacity without a size")
		default:
			o.count("branch/VolumeBinding refuses beside capacity elsewhere or too small")
		}
		o.countIf(capacity.StorageClassName == class && capacity.MaximumVolumeSize != nil, "branch/VolumeBinding refuses beside a maximum size")
	}
}

var zoneKeys = []string{v1.LabelFailureDomainBetaZone, v1.LabelFailureDomainBetaRegion, v1.LabelTopologyZone, v1.LabelTopologyRegion}

// countZoneBranches looks at the labels of bound volumes as VolumeZone does, by key of the node.
func (o *oracle) countZoneBranches(pod *v1.Pod, node *v1.Node, passed bool) {
	plain := !slices.ContainsFunc(zoneKeys, func(key string) bool { _, has := node.Labels[key]; return has })
	for _, volume := range pod.Spec.Volumes {
		if volume.PersistentVolumeClaim == nil {
			continue
		}
		claim, _ := o.state.others["PersistentVolumeClaim"][keyOf(pod.Namespace, volume.PersistentVolumeClaim.ClaimName)].(*v1.PersistentVolumeClaim)
		if claim == nil {
			continue
		}
		bound, _ := o.state.others["PersistentVolume"][claim.Spec.VolumeName].(*v1.PersistentVolume)
		if bound == nil {
			continue
		}
		for _, key := range zoneKeys {
			if value, labelled := bound.Labels[key]; labelled {
				zones := strings.Split(value, "__")
				readable := !slices.ContainsFunc(zones, func(zone string) bool { return strings.TrimSpace(zone) == "" })
				_, same := node.Labels[key]
				beta := key == v1.LabelFailureDomainBetaZone || key == v1.LabelFailureDomainBetaRegion
				o.countIf(!readable, "branch/VolumeZone looks at a label that cannot be read")
				o.countIf(readable && passed && plain, "branch/VolumeZone passes a node without zones")
				o.countIf(readable && passed && same, "branch/VolumeZone passes by the same key")
				o.countIf(readable && passed && !plain && !same && beta, "branch/VolumeZone passes a beta key by the key of today")
				o.countIf(readable && passed && len(zones) > 1, "branch/VolumeZone passes one of several zones")
				o.countIf(readable && !passed && same, "branch/VolumeZone refuses beside a label of the same key")
				o.countIf(readable && !passed && !same, "branch/VolumeZone refuses without a label of the key")
			}
		}
	}
}

func (o *oracle) namespaceLabels(name string) labels.Set {
	if one, known := o.state.others["Namespace"][name]; known {
		return one.GetLabels()
	}
	return nil
}

// countAffinityBranches tells apart why terms of the pod hold or do not.
func (o *oracle) countAffinityBranches(pod *v1.Pod, node *v1.Node, s status) {
	info, err := framework.NewPodInfo(pod)
	if err != nil {
		return
	}
	near, anti := info.GetRequiredAffinityTerms(), info.GetRequiredAntiAffinityTerms()
	missing := slices.ContainsFunc(near, func(t fwk.AffinityTerm) bool { _, has := node.Labels[t.TopologyKey]; return !has })
	if slices.Contains(s.Reasons, "node(s) didn't match pod affinity rules") {
		o.countIf(missing, "branch/InterPodAffinity refuses a node without the key")
		o.countIf(!missing, "branch/InterPodAffinity refuses where no such pod runs")
	}
	if s.Code != "Success" {
		return
	}
	for _, t := range anti {
		_, has := node.Labels[t.TopologyKey]
		o.countIf(!has, "branch/InterPodAffinity passes anti-affinity on a node without the key")
		o.countIf(has, "branch/InterPodAffinity passes anti-affinity where no such pod runs")
	}
	if len(near) == 0 {
		return
	}
	for _, other := range o.state.pods {
		if _, known := o.state.nodes[other.Spec.NodeName]; known && matchesAll(near, other, o.namespaceLabels(other.Namespace)) && other.UID != pod.UID {
			o.count("branch/InterPodAffinity passes where such a pod runs")
			return
		}
	}
	o.countIf(matchesAll(near, pod, o.namespaceLabels(pod.Namespace)), "branch/InterPodAffinity passes the first of its kind")
}

func matchesAll(terms []fwk.AffinityTerm, pod *v1.Pod, namespace labels.Set) bool {
	return !slices.ContainsFunc(terms, func(t fwk.AffinityTerm) bool { return !t.Matches(pod, namespace) })
}
