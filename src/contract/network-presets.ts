/** Presets of `config.network`; `packages` stands for all package registries. */
export const networkPresets = [
  'packages',
  'npm',
  'pypi',
  'crates',
  'rubygems',
  'go',
  'debian',
  'ubuntu',
  'alpine',
  'maven',
  'github',
] as const
export type NetworkPreset = (typeof networkPresets)[number]
