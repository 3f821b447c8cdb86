import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'

const root = join(import.meta.dirname, '..', '..')
/** Folders with a lockfile. Only the packages of the first two are part of an installation. */
const folders = ['.', 'web', 'test/clients', 'test/api-reference', 'bench/peers']

interface LockedPackage {
  readonly version?: string
  readonly integrity?: string
  readonly resolved?: string
  readonly hasInstallScript?: boolean
  readonly link?: boolean
  readonly inBundle?: boolean
}

interface Manifest {
  readonly dependencies?: Readonly<Record<string, string>>
  readonly devDependencies?: Readonly<Record<string, string>>
  readonly optionalDependencies?: Readonly<Record<string, string>>
  readonly allowScripts?: Readonly<Record<string, boolean>>
}

const read = <T>(folder: string, file: string): T => JSON.parse(readFileSync(join(root, folder, file), 'utf8')) as T

for (const folder of folders) {
  const manifest = read<Manifest>(folder, 'package.json')
  const { packages } = read<{ packages: Record<string, LockedPackage> }>(folder, 'package-lock.json')
  const locked = Object.entries(packages).filter(([path, { link }]) => path !== '' && !link)

  test(`S60: ${folder}: every dependency is pinned to one version`, () => {
    const { dependencies, devDependencies, optionalDependencies } = manifest
    const versions = Object.entries({ ...dependencies, ...devDependencies, ...optionalDependencies })
    assert.ok(versions.length > 0)
    for (const [name, version] of versions) assert.match(version, /^(npm:@?[\w./-]+@)?\d+\.\d+\.\d+(-[\w.]+)?$/, name)
  })

  test(`S60: ${folder}: every package of the lockfile has a SHA-512 digest and comes from the public registry`, () => {
    assert.ok(locked.length > 50, String(locked.length))
    for (const [path, { integrity, resolved, inBundle }] of locked) {
      if (!inBundle) assert.match(integrity ?? '', /^sha512-[A-Za-z0-9+/]{86}==$/, path)
      if (resolved !== undefined) assert.match(resolved, /^https:\/\/registry\.npmjs\.org\//, path)
    }
  })

  test(`S60: ${folder}: every package with an install script is listed, with whether it may run`, () => {
    const withScript = locked.filter(([, { hasInstallScript }]) => hasInstallScript)
    const names = withScript.map(([path]) => path.replace(/^.*node_modules\//, '')).toSorted()
    assert.deepEqual(names, Object.keys(manifest.allowScripts ?? {}).toSorted())
  })
}
