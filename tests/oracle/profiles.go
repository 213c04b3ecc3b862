package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/latest"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/scheme"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/validation"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/dynamicresources"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/nodevolumelimits"
	"k8s.io/kubernetes/pkg/scheduler/framework/runtime"
	"k8s.io/kubernetes/pkg/scheduler/metrics"
	"k8s.io/kubernetes/pkg/scheduler/profile"
	"k8s.io/kubernetes/pkg/scheduler/util/assumecache"
)

// cacheSize bounds the configurations whose plugins are kept, because building them costs more than most answers.
const cacheSize = 64

// lister lets the plugins, which are built once a configuration, see the snapshot of the line at hand.
type lister struct{ fwk.SharedLister }

type oracle struct {
	ctx      context.Context
	snapshot *lister
	options  []runtime.Option
	stores   map[string]*listed
	missing  sets.Set[string] // plugins that the other side does not have: they are taken out of every profile
	cached   map[string]*profileSet
	state    *state
	profiles *profileSet
	alone    string         // the plugin that the line at hand asks alone, if it does
	counts   map[string]int // of the line at hand
	total    map[string]int
}

// profileSet is a checked configuration: its frameworks by scheduler name, and the name of the first.
type profileSet struct {
	frameworks profile.Map
	first      string
	strategies map[string]string   // of NodeResourcesFit, by scheduler name
	described  map[string][]string // what a profile's arguments are counted as
	args       map[string]branchArgs
}

func newOracle(missing ...string) *oracle {
	metrics.Register()
	ctx := klog.NewContext(context.Background(), logr.Discard())
	client, snapshot := fake.NewClientset(), &lister{}
	factory, stores := informersFor(client)
	claims := assumecache.NewAssumeCache(logr.Discard(), factory.Resource().V1().ResourceClaims().Informer(), "ResourceClaim", "", nil)
	return &oracle{
		ctx: ctx, snapshot: snapshot, stores: stores, missing: sets.New(missing...), cached: map[string]*profileSet{}, counts: map[string]int{}, total: map[string]int{},
		options: []runtime.Option{
			runtime.WithClientSet(client),
			runtime.WithInformerFactory(factory),
			runtime.WithSharedCSIManager(nodevolumelimits.NewCSIManager(factory.Storage().V1().CSINodes().Lister())),
			runtime.WithSharedDRAManager(dynamicresources.NewDRAManager(ctx, claims, nil, factory)),
			runtime.WithSnapshotSharedLister(snapshot),
			runtime.WithMetricsRecorder(metrics.NewMetricsAsyncRecorder(1000, time.Hour, ctx.Done())),
		},
	}
}

// profilesFor builds every profile of a configuration, or of the defaults when it is null, as kube-scheduler does at its start.
func (o *oracle) profilesFor(raw json.RawMessage) (*profileSet, error) {
	if set, known := o.cached[string(raw)]; known {
		return set, nil
	}
	cfg, err := load(raw)
	if err != nil {
		return nil, err
	}
	set := &profileSet{first: cfg.Profiles[0].SchedulerName, strategies: map[string]string{}, described: map[string][]string{}, args: map[string]branchArgs{}}
	for i := range cfg.Profiles {
		o.withoutMissing(cfg.Profiles[i].Plugins)
		set.described[cfg.Profiles[i].SchedulerName] = describe(&cfg.Profiles[i])
		set.args[cfg.Profiles[i].SchedulerName] = branchArgsOf(&cfg.Profiles[i])
		for _, c := range cfg.Profiles[i].PluginConfig {
			if args, ok := c.Args.(*config.NodeResourcesFitArgs); ok && args.ScoringStrategy != nil {
				set.strategies[cfg.Profiles[i].SchedulerName] = string(args.ScoringStrategy.Type)
			}
		}
	}
	recorder := func(string) events.EventRecorderLogger { return events.NewFakeRecorder(1) }
	set.frameworks, err = profile.NewMap(o.ctx, cfg.Profiles, plugins.NewInTreeRegistry(), recorder, o.options...)
	if err != nil {
		return nil, err
	}
	if len(o.cached) >= cacheSize {
		clear(o.cached)
	}
	o.cached[string(raw)] = set
	return set, nil
}

func load(raw json.RawMessage) (*config.KubeSchedulerConfiguration, error) {
	if len(raw) == 0 || string(raw) == "null" {
		return latest.Default()
	}
	object, gvk, err := scheme.Codecs.UniversalDecoder().Decode(raw, nil, nil)
	if err != nil {
		return nil, err
	}
	cfg, ok := object.(*config.KubeSchedulerConfiguration)
	if !ok {
		return nil, fmt.Errorf("config is a %s, not a KubeSchedulerConfiguration", gvk)
	}
	cfg.APIVersion = gvk.GroupVersion().String()
	if errs := validation.ValidateKubeSchedulerConfiguration(cfg); errs != nil {
		return nil, errs
	}
	return cfg, nil
}

// withoutMissing works on the merged sets, after the defaults have gone in.
func (o *oracle) withoutMissing(p *config.Plugins) {
	for _, set := range []*config.PluginSet{
		&p.MultiPoint, &p.PreEnqueue, &p.PreFilter, &p.Filter, &p.PostFilter, &p.PreScore, &p.Score,
		&p.Reserve, &p.Permit, &p.PreBind, &p.Bind, &p.PostBind, &p.PodGroupPostFilter,
	} {
		set.Enabled = slices.DeleteFunc(set.Enabled, func(plugin config.Plugin) bool { return o.missing.Has(plugin.Name) })
	}
}

// frameworkFor gives the profile that the pod names, else the first.
func (o *oracle) frameworkFor(schedulerName string) framework.Framework {
	found, named := o.profiles.frameworks[schedulerName]
	if !named {
		schedulerName = o.profiles.first
		found = o.profiles.frameworks[schedulerName]
	}
	o.countIf(named, "profile/named")
	o.countIf(!named, "profile/first")
	for _, what := range o.profiles.described[schedulerName] {
		o.count(what)
	}
	return found
}
