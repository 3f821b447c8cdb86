import type { NetworkPreset } from '../../contract/network-presets.ts'

/** Hosts that package managers and Git need. */
const hostsByPreset: Readonly<Record<Exclude<NetworkPreset, 'packages'>, readonly string[]>> = {
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
}

/** Returns the hosts of a preset. */
export function presetHosts(name: string): readonly string[] {
  const { github: _, ...registries } = hostsByPreset
  if (name === 'packages') return Object.values(registries).flat()
  return Object.hasOwn(hostsByPreset, name) ? hostsByPreset[name as keyof typeof hostsByPreset] : []
}
