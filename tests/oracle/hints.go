package main

import (
	"bytes"
	"encoding/json"
	"fmt"

	v1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

// change is what a line with "hint" asks about: an object that came (no old), changed, or went (no new). With target it is
// the pod of the line itself, which then is as new says.
type change struct {
	Kind   string          `json:"kind"`
	Old    json.RawMessage `json:"old"`
	New    json.RawMessage `json:"new"`
	Target bool            `json:"target"`
}

// heard is one event of a change, and what each plugin that registered for it says.
type heard struct {
	Event string            `json:"event"`
	Hints map[string]string `json:"hints"`
}

type hintAnswer struct {
	Events []heard `json:"events"`
}

// asksForHints says whether the line is such a question, without reading it: lines are long.
func asksForHints(data []byte) bool { return bytes.Contains(data, []byte(`"hint":`)) }

// answerHints asks every plugin of the pod's profile about the events of the change, in the state after it.
func (o *oracle) answerHints(data []byte) (any, error) {
	var asked struct {
		Hint change `json:"hint"`
	}
	if err := json.Unmarshal(data, &asked); err != nil {
		return nil, err
	}
	pod, _, err := o.read(data)
	if err != nil {
		return nil, err
	}
	if err := o.put(o.state.others); err != nil {
		return nil, err
	}
	o.snapshot.SharedLister = o.snapshotFor(pod)
	before, err := changedObject(asked.Hint.Kind, asked.Hint.Old)
	if err != nil {
		return nil, err
	}
	after, err := changedObject(asked.Hint.Kind, asked.Hint.New)
	if err != nil {
		return nil, err
	}
	profile := o.frameworkFor(pod.Spec.SchedulerName)
	answer := hintAnswer{Events: []heard{}}
	for _, event := range eventsOf(asked.Hint, before, after) {
		hints := map[string]string{}
		for _, plugin := range profile.EnqueueExtensions() {
			hint, err := o.hintOf(plugin, event, pod, before, after)
			if err != nil {
				return nil, err
			}
			if hint != "" {
				hints[plugin.Name()] = hint
				o.count(fmt.Sprintf("hint/%s/%s/%s", plugin.Name(), event.Label(), hint))
			}
		}
		answer.Events = append(answer.Events, heard{Event: event.Label(), Hints: hints})
	}
	return answer, nil
}

// changedObject decodes an object; nil, and not a nil pointer, when there is none.
func changedObject(kind string, raw json.RawMessage) (any, error) {
	if len(raw) == 0 || string(raw) == "null" {
		return nil, nil
	}
	switch kind {
	case "Pod":
		var pod *v1.Pod
		err := decode(raw, &pod)
		if err == nil {
			canonical(podQuantities(pod)...)
		}
		return pod, err
	case "Node":
		var node *v1.Node
		err := decode(raw, &node)
		if err == nil {
			canonical(node.Status.Allocatable)
		}
		return node, err
	case "DeviceClass":
		var class *resourceapi.DeviceClass
		err := decode(raw, &class)
		return class, err
	}
	return readObject(kind, raw)
}

var resources = map[string]fwk.EventResource{
	"Node": fwk.Node, "Pod": fwk.AssignedPod, "DeviceClass": fwk.DeviceClass,
	"PersistentVolumeClaim": fwk.PersistentVolumeClaim, "PersistentVolume": fwk.PersistentVolume,
	"StorageClass": fwk.StorageClass, "CSINode": fwk.CSINode, "CSIDriver": fwk.CSIDriver,
	"CSIStorageCapacity": fwk.CSIStorageCapacity, "VolumeAttachment": fwk.VolumeAttachment,
}

// eventsOf is what kube-scheduler's event handlers make of the change.
func eventsOf(c change, before, after any) []fwk.ClusterEvent {
	if before != nil && after != nil {
		switch c.Kind {
		case "Node":
			return framework.NodeSchedulingPropertiesChange(after.(*v1.Node), before.(*v1.Node))
		case "Pod":
			return framework.PodSchedulingPropertiesChange(after.(*v1.Pod), before.(*v1.Pod), c.Target)
		}
	}
	action := fwk.Update
	if before == nil {
		action = fwk.Add
	} else if after == nil {
		action = fwk.Delete
	}
	return []fwk.ClusterEvent{{Resource: resources[c.Kind], ActionType: action}}
}

// hintOf is the plugin's answer: Queue, QueueSkip or Error, or "" when it did not register for the event.
func (o *oracle) hintOf(plugin fwk.EnqueueExtensions, event fwk.ClusterEvent, pod *v1.Pod, before, after any) (string, error) {
	registered, err := plugin.EventsToRegister(o.ctx)
	if err != nil {
		return "", err
	}
	found := ""
	for _, one := range registered {
		if !framework.MatchClusterEvents(one.Event, event) {
			continue
		}
		if one.QueueingHintFn == nil {
			return "Queue", nil
		}
		hint, err := one.QueueingHintFn(klog.FromContext(o.ctx), pod, before, after)
		if err != nil {
			return "Error", nil
		}
		if hint == fwk.Queue {
			return "Queue", nil
		}
		found = "QueueSkip"
	}
	return found, nil
}
