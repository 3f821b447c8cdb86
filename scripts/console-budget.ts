import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'

/** Part of the build manifest of Vite that lists which files a file loads. */
interface Chunk {
  readonly file: string
  readonly isEntry?: boolean
  readonly isDynamicEntry?: boolean
  readonly imports?: readonly string[]
}

export type Manifest = Readonly<Record<string, Chunk>>

/** Scripts that the first load of the console needs. */
export interface FirstLoad {
  readonly scripts: readonly string[]
  /** Bytes of the scripts, compressed with gzip. */
  readonly bytes: number
  /** Parts that are meant to load later but are among the scripts. */
  readonly early: readonly string[]
  /** Number of parts that load later. */
  readonly later: number
}

/** 300 KB of compressed scripts for the first load. Source: Console, U08. */
export const maxFirstLoadBytes = 300_000

/** Returns the entry of a build with everything that it imports statically. */
export function firstLoadOf(dist: string): FirstLoad {
  const manifest = JSON.parse(readFileSync(join(dist, '.vite', 'manifest.json'), 'utf8')) as Manifest
  const names = staticImports(manifest)
  const chunks = names.flatMap(name => manifest[name] ?? [])
  const scripts = chunks.map(({ file }) => file).filter(file => file.endsWith('.js'))
  const bytes = scripts.reduce((sum, file) => sum + gzipSync(readFileSync(join(dist, file))).length, 0)
  const early = names.filter(name => manifest[name]?.isDynamicEntry)
  const later = Object.values(manifest).filter(({ isDynamicEntry }) => isDynamicEntry).length - early.length
  return { scripts, bytes, early, later }
}

function staticImports(manifest: Manifest): string[] {
  const found = new Set<string>()
  const visit = (name: string): void => {
    if (found.has(name)) return
    found.add(name)
    for (const imported of manifest[name]?.imports ?? []) visit(imported)
  }
  for (const [name, { isEntry }] of Object.entries(manifest)) if (isEntry) visit(name)
  return [...found]
}
