package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	kjson "sigs.k8s.io/json"
)

// line is either kind of input: a whole state has objects, a step on the last one has apply or delete.
type line struct {
	Objects *[]json.RawMessage `json:"objects"`
	Apply   []json.RawMessage  `json:"apply"`
	Delete  []reference        `json:"delete"`
	Pod     json.RawMessage    `json:"pod"`
	Config  json.RawMessage    `json:"config"`
	Alone   string             `json:"alone"` // the plugin that is asked alone (alone.go)
}

type reference struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Metadata   struct {
		Name      string `json:"name"`
		Namespace string `json:"namespace"`
		UID       string `json:"uid"`
	} `json:"metadata"`
}

// state is what the last lines have built: nodes by name, pods and all other objects by namespace and name.
type state struct {
	nodes  map[string]*v1.Node
	pods   map[string]*v1.Pod
	others map[string]map[string]object // by kind
}

func newState() *state {
	return &state{nodes: map[string]*v1.Node{}, pods: map[string]*v1.Pod{}, others: map[string]map[string]object{}}
}

func (s *state) copy() *state {
	made := &state{nodes: maps.Clone(s.nodes), pods: maps.Clone(s.pods), others: map[string]map[string]object{}}
	for kind, objects := range s.others {
		made.others[kind] = maps.Clone(objects)
	}
	return made
}

// read decodes a line and brings state and configuration up to date; a line that is refused changes neither.
// The second result says what was wrong: "line" or "config".
func (o *oracle) read(data []byte) (*v1.Pod, string, error) {
	var l line
	o.alone = ""
	if err := json.Unmarshal(data, &l); err != nil {
		return nil, "line", fmt.Errorf("unreadable line: %w", err)
	}
	var pod *v1.Pod
	if err := decode(l.Pod, &pod); err != nil || pod == nil {
		return nil, "line", errors.Join(errors.New("unreadable line: pod is missing or cannot be decoded"), err)
	}
	canonical(podQuantities(pod)...)
	next, profiles := newState(), o.profiles
	changed := l.Apply
	if l.Objects != nil {
		changed = *l.Objects
	} else if o.state == nil {
		return nil, "line", errors.New("unreadable line: there is no earlier line with objects to apply this one to")
	} else {
		next = o.state.copy()
		o.remove(next, l.Delete)
	}
	if err := o.apply(next, changed, l.Objects == nil); err != nil {
		return nil, "line", fmt.Errorf("unreadable line: %w", err)
	}
	if l.Objects != nil {
		var err error
		if profiles, err = o.profilesFor(l.Config); err != nil {
			return nil, "config", err
		}
	}
	o.state, o.profiles, o.alone = next, profiles, l.Alone
	return pod, "", nil
}

// remove comes before apply, so that one line can delete an object and add another of the same name.
// An object whose UID is not the one to delete has already been replaced and stays.
func (o *oracle) remove(s *state, references []reference) {
	for _, r := range references {
		switch r.Kind {
		case "Node":
			if node, known := s.nodes[r.Metadata.Name]; known && (r.Metadata.UID == "" || r.Metadata.UID == string(node.UID)) {
				delete(s.nodes, r.Metadata.Name)
				o.count("step/node deleted")
				continue
			}
		case "Pod":
			key := r.Metadata.Namespace + "/" + r.Metadata.Name
			if pod, known := s.pods[key]; known && (r.Metadata.UID == "" || r.Metadata.UID == string(pod.UID)) {
				delete(s.pods, key)
				o.count("step/pod deleted")
				continue
			}
		default:
			key := keyOf(r.Metadata.Namespace, r.Metadata.Name)
			if one, known := s.others[r.Kind][key]; known && (r.Metadata.UID == "" || r.Metadata.UID == string(one.GetUID())) {
				delete(s.others[r.Kind], key)
				o.count("step/" + r.Kind + " deleted")
				continue
			}
		}
		o.count("step/nothing deleted")
	}
}

func (o *oracle) apply(s *state, objects []json.RawMessage, step bool) error {
	for i, raw := range objects {
		var kind reference
		if err := json.Unmarshal(raw, &kind); err != nil {
			return fmt.Errorf("object %d: %w", i, err)
		}
		switch kind.Kind {
		case "Node":
			var node *v1.Node
			if err := decode(raw, &node); err != nil {
				return fmt.Errorf("node %q: %w", kind.Metadata.Name, err)
			}
			canonical(node.Status.Allocatable)
			if step {
				o.countNodeStep(s.nodes[node.Name], node)
			}
			s.nodes[node.Name] = node
		case "Pod":
			var pod *v1.Pod
			if err := decode(raw, &pod); err != nil {
				return fmt.Errorf("pod %q: %w", kind.Metadata.Name, err)
			}
			canonical(podQuantities(pod)...)
			key := pod.Namespace + "/" + pod.Name
			if step {
				o.countPodStep(s.pods[key], pod)
			}
			s.pods[key] = pod
		case "":
			return fmt.Errorf("object %d has no kind", i)
		default:
			one, err := readObject(kind.Kind, raw)
			if err != nil {
				return fmt.Errorf("%s %q: %w", kind.Kind, kind.Metadata.Name, err)
			} else if one == nil {
				continue
			}
			if s.others[kind.Kind] == nil {
				s.others[kind.Kind] = map[string]object{}
			}
			key := keyOf(one.GetNamespace(), one.GetName())
			if step {
				o.countObjectStep(kind.Kind, s.others[kind.Kind][key], one)
			}
			s.others[kind.Kind][key] = one
		}
	}
	return nil
}

// canonical writes quantities as the API server does before kube-scheduler sees them. It matters: a fraction such as 1.005Mi
// that was just parsed is a big decimal, and PodRequests adds the overhead to the pod's own one, again with every call.
func canonical(lists ...v1.ResourceList) {
	for _, list := range lists {
		for name, quantity := range list {
			list[name] = canonicalQuantity(quantity)
		}
	}
}

type resourceQuantity = resource.Quantity

func canonicalQuantity(quantity resourceQuantity) resourceQuantity {
	return resource.MustParse(quantity.String())
}

func podQuantities(pod *v1.Pod) []v1.ResourceList {
	lists := []v1.ResourceList{pod.Spec.Overhead, pod.Status.AllocatedResources}
	for _, c := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
		lists = append(lists, c.Resources.Requests)
	}
	for _, s := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
		lists = append(lists, s.AllocatedResources)
		if s.Resources != nil {
			lists = append(lists, s.Resources.Requests)
		}
	}
	for _, r := range []*v1.ResourceRequirements{pod.Spec.Resources, pod.Status.Resources} {
		if r != nil {
			lists = append(lists, r.Requests)
		}
	}
	return lists
}

// decode reads an object as the API server's clients do: case-sensitive, unknown fields ignored, nothing defaulted.
func decode(data json.RawMessage, into any) error {
	if len(data) == 0 {
		return errors.New("is missing")
	}
	return kjson.UnmarshalCaseSensitivePreserveInts(data, into)
}
