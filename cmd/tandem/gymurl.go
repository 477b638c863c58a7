package main

import (
	"fmt"
	"strings"

	"github.com/tandem-rl/tandem/api/v1alpha1"
	"github.com/tandem-rl/tandem/gymconfig"
)

// settleGymURL gives the driver the address of a Gym outside of the run in the one form that NeMo-RL reads, whichever people have written
// (`+env.remote_gym_url=host`). One that holds a variable is left as it is.
func settleGymURL(run *v1alpha1.Run) error {
	for i, argument := range run.Spec.Driver.Command {
		name, value, found := strings.Cut(argument, "=")
		if !found || !strings.HasSuffix(name, "remote_gym_url") || strings.Contains(value, "$(") {
			continue
		}
		address, err := gymconfig.NormalizeRemoteURL(value)
		if err != nil {
			return fmt.Errorf("spec.driver.command[%d]: %w", i, err)
		}
		run.Spec.Driver.Command[i] = name + "=" + address
	}
	return nil
}
