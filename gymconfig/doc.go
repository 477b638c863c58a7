// Package gymconfig takes NeMo Gym's part out of a NeMo-RL recipe, so that Gym can run in a cluster of its own.
//
// A recipe is a YAML file that OmegaConf reads: it may build on others (`defaults:`), and its values refer to each other
// (`${policy.model_name}`). Gym gets the section `env.nemo_gym` alone, without what the section refers to. [Extract]
// therefore resolves the references first, as OmegaConf 2.3 and the resolvers of NeMo-RL do.
//
// It guarantees:
//   - What OmegaConf resolves in the recipe has the same value and type here; what YAML 1.1 reads as a number is one.
//   - What only Gym can know (see [ServerKeys]) stays an interpolation, and Gym resolves it.
//   - A value that nobody can resolve is left out and listed in [Result.Dropped] with its path, its text and the reason.
//     Nothing else is left out.
//   - The output is in the recipe's order, and OmegaConf reads from it what is meant: literal `${` are escaped, strings
//     that look like numbers are quoted. Input files are only read.
//
// It does not check that Gym likes the section, and it runs no Python: resolvers that a program registers for itself,
// structured configs and Hydra's config groups are not known here.
package gymconfig
