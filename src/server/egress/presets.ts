/** Hosts that package managers and Git need, by the name of the preset. */
const hostsByPreset = {
  npm: ['registry.npmjs.org', 'registry.yarnpkg.com'],
  pypi: ['pypi.org', 'files.pythonhosted.org'],
  crates: ['index.crates.io', 'static.crates.io', 'crates.io'],
  rubygems: ['rubygems.org', 'index.rubygems.org'],
  go: ['proxy.golang.org', 'sum.golang.org'],
  debian: ['deb.debian.org', 'security.debian.org'],
  ubuntu: ['archive.ubuntu.com', 'security.ubuntu.com', 'ports.ubuntu.com'],
  alpine: ['dl-cdn.alpinelinux.org'],
  maven: ['repo.maven.apache.org', 'repo1.maven.org'],
  github: [
    'github.com',
    'api.github.com',
    'codeload.github.com',
    'raw.githubusercontent.com',
    'objects.githubusercontent.com',
    'release-assets.githubusercontent.com',
  ],
} as const

export type Preset = keyof typeof hostsByPreset | 'packages'

/** Names that `config.network.presets` may contain. `packages` stands for all registries. */
export const presetNames = [...Object.keys(hostsByPreset), 'packages'] as readonly Preset[]

/** Returns the hosts of a preset. */
export function presetHosts(name: string): readonly string[] {
  const { github: _, ...registries } = hostsByPreset
  if (name === 'packages') return Object.values(registries).flat()
  return Object.hasOwn(hostsByPreset, name) ? hostsByPreset[name as keyof typeof hostsByPreset] : []
}
