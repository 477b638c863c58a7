// Package graph draws a run: its clusters and groups, who publishes and who reads which key of the registry, who watches whom, and which
// pods start together.
//
// [Of] makes the picture as data from the Run alone; [WriteMermaid], [WriteDOT] and [WriteSVG] only write it down. The same Run gives the
// same bytes. The SVG needs no tool, font or script: it is laid out here, in a column for each cluster, and its texts are wrapped so that
// they fit their boxes in common fonts.
//
// It does not know what a cluster adds (that is for package plan), and it draws who is known to read a key, not who may: every head may
// read every key. Clusters of many groups are drawn with equal neighbours in one box.
package graph
