package importer

import (
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/tandem-rl/tandem/api/v1alpha1"
)

// command makes a group's command of a script.
func (m *maker) command(at node, text string) []string { return m.jobID(at, asCommand(text)) }

// jobIDs are how a command is told of the job id.
var jobIDs = regexp.MustCompile(`((?:--job-id[= ]|env\.disagg_job_id=)\s*)([A-Za-z0-9<>._-]+)`)

// jobID puts the run's name where a command has a job id.
func (m *maker) jobID(at node, command []string) []string {
	out := slices.Clone(command)
	for i, word := range out {
		if i > 0 && out[i-1] == "--job-id" && word != runName {
			at.dropPart(word, ownJobID)
			out[i] = runName
		}
		for _, match := range jobIDs.FindAllStringSubmatch(word, -1) {
			at.dropPart(match[0], ownJobID)
		}
		out[i] = jobIDs.ReplaceAllString(out[i], "${1}"+strings.ReplaceAll(runName, "$", "$$"))
	}
	return out
}

// servers of NeMo-RL and the endpoint that each has.
var servers = []struct {
	module, flag, port string
	publish            v1alpha1.Publish
	path               string
}{
	{"standalone_gym_server", "--port", "9090", v1alpha1.Publish{Key: "gym_head_server"}, "/global_config_dict_yaml"},
	{"run_standalone_generation_server", "--port", "8089", v1alpha1.Publish{Key: "generation_server_url"}, "/health"},
}

// readServer publishes the address of a server of NeMo-RL once it answers.
func (m *maker) readServer(d *draft, p *part) {
	text := strings.Join(p.group.Command, " ")
	for _, server := range servers {
		if !strings.Contains(text, server.module) || !p.isHead() {
			continue
		}
		port := server.port
		if found := regexp.MustCompile(`--port[= ]+([0-9]+)`).FindStringSubmatch(text); found != nil {
			port = found[1]
		}
		number, err := strconv.ParseInt(port, 10, 32)
		if err != nil {
			continue
		}
		one := server.publish
		one.URL = "http://$(" + v1alpha1.EnvPodIP + "):" + port
		one.When = &v1alpha1.Condition{HTTPGet: &v1alpha1.HTTPGet{Port: int32(number), Path: server.path}}
		d.Publish = append(d.Publish, one)
	}
}

// rename notes that a name which commands may mention becomes another.
func (m *maker) rename(from, to string) {
	if m.renames == nil {
		m.renames = map[string]string{}
	}
	if from != to {
		m.renames[from] = to
	}
}

// applyRenames puts the new names into commands and variables, the longest first, since one may begin with another.
func (m *maker) applyRenames() {
	names := slices.SortedFunc(maps.Keys(m.renames), func(a, b string) int { return len(b) - len(a) })
	for _, from := range names {
		replace := func(text string) string { return strings.ReplaceAll(text, from, m.renames[from]) }
		for _, p := range m.parts {
			p.group.Setup = replace(p.group.Setup)
			for i := range p.group.Command {
				p.group.Command[i] = replace(p.group.Command[i])
			}
			for i := range p.group.Env {
				p.group.Env[i].Value = replace(p.group.Env[i].Value)
			}
		}
		driver := &m.run.Spec.Driver
		for i := range driver.Command {
			driver.Command[i] = replace(driver.Command[i])
		}
		for i := range driver.Env {
			driver.Env[i].Value = replace(driver.Env[i].Value)
		}
	}
}
