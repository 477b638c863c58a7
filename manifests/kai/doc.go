// Package kai knows how the KAI scheduler makes gangs of pods, version by version.
//
// It has four parts. [Parse] and [Version.Features] say what a version can do. [NewQueues], [NewTopology], [NewPodGroup] and [Member]
// build KAI's objects and the labels that tie pods to them. [Gangs] says which PodGroups a version will form from rendered objects, and
// [Check] names what would never start, start only in part, or be evicted, each with the rule and the way out.
//
// It promises the same answer for the same objects, in the order of the objects: nothing here talks to a cluster, so it cannot know a
// queue, topology or scheduler flag that is not among the objects. Gangs and Check follow JobSet, RayCluster, RayJob, Job and bare Pod;
// objects of other kinds are left out. Everything about scheduling.run.ai's PodGroup is made in podgroup.go, because upstream is about to
// replace it for groups of gangs (kai#2019).
//
//	version, err := kai.Parse("0.17")
//	objects, err := kai.Read(rendered...)
//	for _, violation := range kai.Check(version, kai.GangPerRun, objects) { ... }
package kai
