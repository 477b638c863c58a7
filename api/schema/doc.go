// Package schema tells what a Run file may say: to people ([Find], for `tandem explain`) and to editors ([JSON], a JSON Schema of
// draft 2020-12, for `tandem schema`).
//
// Nothing is written twice: fields and types come from package v1alpha1 by reflection, descriptions and allowed values from its source
// (comments.json, made by go generate, since a program has no comments), defaults from what SetDefaults does. Kubernetes' own types are
// described by their SwaggerDoc.
//
// It promises that what Load accepts the schema accepts too, but for empty values (`env:` with nothing after it). The reverse does not
// hold: that names resolve or ports do not meet no schema can say. A pod template is an open object here; Load looks into it.
package schema

//go:generate go test -count=1 -run ^TestTheCommentsAreThoseOfTheSource$ . -update
//go:generate go test -count=1 -run ^TestTheDocumentIsTheSchema$ . -update
