package main

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
)

// object is what a plugin finds through a lister, by namespace and name.
type object interface {
	runtime.Object
	metav1.Object
}

// example of each kind that plugins read through informers.
var examples = map[string]object{
	"Namespace":             &v1.Namespace{},
	"Service":               &v1.Service{},
	"ReplicationController": &v1.ReplicationController{},
	"ReplicaSet":            &appsv1.ReplicaSet{},
	"StatefulSet":           &appsv1.StatefulSet{},
	"PersistentVolumeClaim": &v1.PersistentVolumeClaim{},
	"PersistentVolume":      &v1.PersistentVolume{},
	"StorageClass":          &storagev1.StorageClass{},
	"CSINode":               &storagev1.CSINode{},
	"CSIDriver":             &storagev1.CSIDriver{},
	"CSIStorageCapacity":    &storagev1.CSIStorageCapacity{},
	"VolumeAttachment":      &storagev1.VolumeAttachment{},
}

// listed is the store of one kind's informer and what was last put into it.
type listed struct {
	indexer cache.Indexer
	last    map[string]object
}

// informersFor makes a factory whose informers never run: what a line says is written into their stores, and plugins
// see it through listers, indexes and assume caches (which read the same stores) at once, with nothing to wait for.
func informersFor(client kubernetes.Interface) (informers.SharedInformerFactory, map[string]*listed) {
	factory := informers.NewSharedInformerFactory(client, 0)
	stores := map[string]*listed{}
	for kind, example := range examples {
		informer := factory.InformerFor(example, func(kubernetes.Interface, time.Duration) cache.SharedIndexInformer {
			indexers := cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc}
			return &ordered{cache.NewSharedIndexInformer(&cache.ListWatch{}, example, 0, indexers)}
		})
		stores[kind] = &listed{indexer: informer.GetIndexer()}
	}
	return factory, stores
}

// put makes the stores hold what the state holds.
func (o *oracle) put(objects map[string]map[string]object) error {
	for kind, store := range o.stores {
		if len(store.last) == 0 && len(objects[kind]) == 0 || maps.Equal(store.last, objects[kind]) {
			continue
		}
		all := []any{}
		for _, one := range objects[kind] {
			all = append(all, one)
		}
		if err := store.indexer.Replace(all, ""); err != nil {
			return fmt.Errorf("%s: %w", kind, err)
		}
		store.last = objects[kind]
	}
	return nil
}

// readObject decodes an object of a kind that plugins read through informers; nil for any other kind.
func readObject(kind string, raw []byte) (object, error) {
	example, known := examples[kind]
	if !known {
		return nil, nil
	}
	made := reflect.New(reflect.TypeOf(example).Elem()).Interface().(object)
	if err := decode(raw, made); err != nil {
		return nil, err
	}
	switch one := made.(type) {
	case *v1.PersistentVolumeClaim:
		canonical(one.Spec.Resources.Requests)
	case *v1.PersistentVolume:
		canonical(one.Spec.Capacity)
	case *storagev1.CSIStorageCapacity:
		for _, quantity := range []*resourceQuantity{one.Capacity, one.MaximumVolumeSize} {
			if quantity != nil {
				*quantity = canonicalQuantity(*quantity)
			}
		}
	}
	return made, nil
}

func keyOf(namespace, name string) string {
	if namespace == "" {
		return name
	}
	return namespace + "/" + name
}

// ordered lists objects sorted by namespace and name. The store itself lists them in the order of a map, a new one each
// time, and where a plugin takes the first of equals that would be its answer.
type ordered struct{ cache.SharedIndexInformer }

func (o *ordered) GetIndexer() cache.Indexer {
	return sortedIndexer{o.SharedIndexInformer.GetIndexer()}
}

type sortedIndexer struct{ cache.Indexer }

func (s sortedIndexer) List() []any { return byKey(s.Indexer.List()) }

func (s sortedIndexer) Index(name string, obj any) ([]any, error) {
	found, err := s.Indexer.Index(name, obj)
	return byKey(found), err
}

func (s sortedIndexer) ByIndex(name, value string) ([]any, error) {
	found, err := s.Indexer.ByIndex(name, value)
	return byKey(found), err
}

func byKey(objects []any) []any {
	slices.SortFunc(objects, func(a, b any) int {
		one, other := a.(object), b.(object)
		return cmp.Or(cmp.Compare(one.GetNamespace(), other.GetNamespace()), cmp.Compare(one.GetName(), other.GetName()))
	})
	return objects
}
