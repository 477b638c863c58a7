// Command coredns is CoreDNS with only the plugins that a cluster's DNS needs. There is no forward plugin among
// them, so no query can leave the machine: template answers NXDOMAIN for every name outside the cluster.
package main

import (
	"github.com/coredns/coredns/core/dnsserver"
	"github.com/coredns/coredns/coremain"

	_ "github.com/coredns/coredns/plugin/cache"
	_ "github.com/coredns/coredns/plugin/errors"
	_ "github.com/coredns/coredns/plugin/health"
	_ "github.com/coredns/coredns/plugin/kubernetes"
	_ "github.com/coredns/coredns/plugin/ready"
	_ "github.com/coredns/coredns/plugin/template"
)

func init() {
	dnsserver.Directives = []string{"errors", "health", "ready", "cache", "kubernetes", "template"}
}

func main() { coremain.Run() }
