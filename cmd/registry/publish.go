package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"time"

	"k8s.io/klog/v2"

	"github.com/tandem-rl/tandem/internal/kubeclient"
	"github.com/tandem-rl/tandem/registry"
)

// withdrawWithin bounds the withdrawal after SIGTERM; the kubelet kills after 30 s.
const withdrawWithin = 20 * time.Second

// publisher publishes one endpoint for as long as the process lives.
type publisher struct {
	publication
	store   *registry.Store
	metrics *metrics
	health  health
}

// health says when an endpoint that was published counts as broken.
type health struct {
	every    time.Duration // between two probes
	failures int           // in a row
}

// run publishes the address once it is known and its condition holds. It withdraws it when ctx ends, when the condition
// has failed too often, or when the app has written another address: a server that restarted is elsewhere. Except for
// the first it begins again.
func (p publisher) run(ctx context.Context) error {
	for ctx.Err() == nil {
		address, err := p.ready(ctx)
		if err != nil {
			return ignoreEnd(ctx, err)
		}
		if err := p.publishWhile(ctx, address); err != nil {
			return err
		}
	}
	return nil
}

// publishWhile publishes address for as long as it holds. A write that ctx interrupts may have landed, so it is
// withdrawn in any case.
func (p publisher) publishWhile(ctx context.Context, address string) error {
	err := p.publish(ctx, address)
	if err == nil {
		klog.FromContext(ctx).Info("published", "key", p.key, "url", address)
		p.metrics.Add("tandem_registry_published", 1)
		p.holdAndKeep(ctx, address)
		p.metrics.Add("tandem_registry_published", -1)
	}
	return errors.Join(ignoreEnd(ctx, err), p.withdraw(ctx, address))
}

// holdAndKeep holds, and meanwhile publishes again what gets lost. Whoever withdraws next writes alone.
func (p publisher) holdAndKeep(ctx context.Context, address string) {
	ctx, cancel := context.WithCancel(ctx)
	kept := make(chan struct{})
	go func() {
		defer close(kept)
		p.keep(ctx, address)
	}()
	p.hold(ctx, address)
	cancel()
	<-kept
}

// A loss is believed when it has lasted a moment: a watch lags, and what is in a shard is not folded yet. The moment is
// drawn from between half and all of lossAfter, so that those who lost the same ConfigMap come one by one; it doubles, up
// to lossAtMost, for as long as the loss stays, whatever the reason.
const (
	lossAfter  = time.Second
	lossAtMost = 30 * time.Second
)

// keep writes address again whenever the run's ConfigMap has lost it: it was deleted and made again, or somebody removed
// the key. Nothing is written into a run that is being removed. It returns when ctx ends.
func (p publisher) keep(ctx context.Context, address string) {
	for longest := lossAfter; ; longest = min(2*longest, lossAtMost) {
		began, moment := time.Now(), longest/2+rand.N(longest/2)
		if p.awaitLoss(ctx, address, moment) != nil {
			return
		}
		if time.Since(began) > moment+lossAfter { // it was there in the meantime
			longest = lossAfter
		}
		p.restore(ctx, address, longest == lossAfter)
	}
}

func (p publisher) awaitLoss(ctx context.Context, address string, lasting time.Duration) error {
	if p.member {
		return p.store.AwaitLoss(ctx, p.key, address, lasting)
	}
	return p.store.AwaitLoss(ctx, p.key, "", lasting)
}

func (p publisher) restore(ctx context.Context, address string, isNew bool) {
	err := p.write(ctx, address)
	switch {
	case ctx.Err() != nil:
	case err != nil:
		klog.FromContext(ctx).Error(err, "cannot publish again yet", "key", p.key)
	case isNew:
		klog.FromContext(ctx).Info("published again, because it was not there any more", "key", p.key, "url", address)
	}
}

// rereadEvery is how often a file is read again.
const rereadEvery = time.Second

// hold returns when ctx ends, the file holds another address, or the condition has failed too often. A file that cannot
// be read is no news.
func (p publisher) hold(ctx context.Context, address string) {
	_, ask, _ := p.condition(address) // it was fine when it was published
	reread, stopReread := ticks(rereadEvery, p.file != "")
	defer stopReread()
	check, stopCheck := ticks(p.health.every, ask != nil)
	defer stopCheck()
	for failures := 0; failures < p.health.failures; {
		select {
		case <-ctx.Done():
			return
		case <-reread:
			if now, err := readAddress(p.file); err == nil && now != address {
				return
			}
		case <-check:
			err := ask(ctx)
			if err == nil {
				failures = 0
				continue
			}
			failures++
			klog.FromContext(ctx).Info("probe failed", "key", p.key, "failures", failures, "of", p.health.failures, "err", err.Error())
		}
	}
}

// ticks is a ticker, or nothing that ever happens.
func ticks(every time.Duration, wanted bool) (<-chan time.Time, func()) {
	if !wanted {
		return nil, func() {}
	}
	ticker := time.NewTicker(every)
	return ticker.C, ticker.Stop
}

func ignoreEnd(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// ready returns the address once there is one and its condition holds.
func (p publisher) ready(ctx context.Context) (string, error) {
	address := p.url
	if p.file != "" {
		err := await(ctx, p.file, func(context.Context) (err error) {
			address, err = readAddress(p.file)
			return err
		})
		if err != nil {
			return "", err
		}
	}
	what, ask, err := p.condition(address)
	if err != nil || ask == nil {
		return address, err
	}
	return address, await(ctx, what, ask)
}

func readAddress(path string) (string, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	address := strings.TrimSpace(string(raw))
	if address == "" {
		return "", fmt.Errorf("%s is empty", path)
	}
	return address, nil
}

// publish writes until it is written. A missing ConfigMap or rule may still come, so only ctx ends the tries.
func (p publisher) publish(ctx context.Context, address string) error {
	var retry kubeclient.Backoff
	for {
		err := p.write(ctx, address)
		if err == nil {
			return nil
		}
		if errors.Is(err, registry.ErrBadKey) || errors.Is(err, registry.ErrBadValue) || errors.Is(err, registry.ErrFull) {
			return err
		}
		klog.FromContext(ctx).Error(err, "cannot publish yet", "key", p.key)
		if ended := retry.Wait(ctx, err); ended != nil {
			return err
		}
	}
}

func (p publisher) write(ctx context.Context, address string) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if p.member {
		return p.store.Join(ctx, p.key, address)
	}
	return p.store.Set(ctx, p.key, address)
}

// withdraw works after ctx has ended. A registry that is gone needs no withdrawal, and neither does one that belongs to
// the run's next incarnation.
func (p publisher) withdraw(ctx context.Context, address string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), withdrawWithin)
	defer cancel()
	err := p.remove(ctx, address)
	if errors.Is(err, registry.ErrNotFound) || errors.Is(err, registry.ErrStale) {
		return nil
	}
	if err == nil {
		klog.FromContext(ctx).Info("withdrawn", "key", p.key, "url", address)
	}
	return err
}

func (p publisher) remove(ctx context.Context, address string) error {
	if p.member {
		return p.store.Leave(ctx, p.key, address)
	}
	return p.store.Withdraw(ctx, p.key)
}
