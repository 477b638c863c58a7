package graph

import (
	"github.com/tandem-rl/tandem/api/v1alpha1"
)

// driverInGang: the pod that submits the driver is one of the run, where there is one.
func (p *painter) driverInGang() bool {
	return p.run.Spec.Scheduling.Gang == v1alpha1.GangRun && p.run.Spec.Backend.DriverHasPod()
}

// gangs puts the clusters into frames of what starts together.
func (p *painter) gangs(clusters []Frame, driver Node) []Frame {
	switch p.run.Spec.Scheduling.Gang {
	case v1alpha1.GangRun:
		gang := Frame{ID: runGangID, Kind: FrameGang, Name: "gang", Lines: []string{"all pods start together, or none"}, Frames: clusters}
		if p.driverInGang() {
			gang.Nodes = []Node{driver}
		}
		return []Frame{gang}
	case v1alpha1.GangCluster:
		out := make([]Frame, len(clusters))
		for i, cluster := range clusters {
			out[i] = Frame{
				ID: "gang_" + cluster.ID, Kind: FrameGang, Name: "gang", Lines: []string{"these pods start together, or none"},
				Frames: []Frame{cluster},
			}
		}
		return out
	default:
		return clusters
	}
}

// runGangID is the frame around the gang of the whole run.
const runGangID = "gang"
