import { invalid } from '../platform/errors.ts'
import { workspaceRoot } from '../sandboxes/sandbox.ts'
import { workspaceNames } from '../sandboxes/workspace-path.ts'
import type { Entry, Manifest } from './manifest.ts'

const maxLinks = 40

/**
 * Returns the names of a caller's path; empty for the workspace itself. Errors: `invalid_request` outside of the
 * workspace.
 */
export function namesOf(path: string): string[] {
  if (/[\uD800-\uDFFF]/u.test(path)) throw invalid('path must be valid Unicode')
  return workspaceNames(path)
}

/**
 * Returns the path after following every link; empty for the workspace itself, undefined when it does not exist.
 * Errors: `invalid_request` for a link that leads out of the workspace.
 */
export function followed(manifest: Manifest, path: string): string | undefined {
  const walk: Walk = { path, names: namesOf(path), way: [], links: 0 }
  while (walk.names.length > 0) if (!step(manifest, walk)) return undefined
  return walk.way.join('/')
}

interface Walk {
  /** The path that the caller gave. */
  readonly path: string
  /** Names that are not resolved yet. */
  readonly names: string[]
  readonly way: string[]
  links: number
}

/** Resolves one more name. Returns false when it does not exist. */
function step(manifest: Manifest, walk: Walk): boolean {
  const { path, names, way } = walk
  const name = names.shift() ?? ''
  if (name === '..') {
    leave(way, path)
    return true
  }
  const entry = manifest.get([...way, name].join('/'))
  if (entry?.kind === 'link') {
    walk.links += 1
    if (walk.links > maxLinks) throw invalid(`${path} passes through more than ${maxLinks} links`)
    if (entry.target.startsWith('/')) way.length = 0
    names.unshift(...stepsOf(entry.target, path))
    return true
  }
  way.push(name)
  return entry?.kind === 'folder' || (entry !== undefined && names.length === 0)
}

function leave(way: string[], path: string): void {
  if (way.pop() === undefined) throw leadsOut(path)
}

/** Returns the names of a link target. An absolute target is relative to the root inside the sandbox. */
function stepsOf(target: string, path: string): string[] {
  const isAbsolute = target.startsWith('/')
  if (isAbsolute && target !== workspaceRoot && !target.startsWith(`${workspaceRoot}/`)) throw leadsOut(path)
  const steps = isAbsolute ? target.slice(workspaceRoot.length) : target
  return steps.split('/').filter(step => step !== '' && step !== '.')
}

const leadsOut = (path: string) => invalid(`${path} follows a link out of the workspace`)

/** Returns the direct entries of a folder, sorted by name. */
export function childrenOf(manifest: Manifest, folder: string): Entry[] {
  const prefix = folder === '' ? '' : `${folder}/`
  return [...manifest.values()]
    .filter(({ path }) => path.startsWith(prefix) && !path.includes('/', prefix.length))
    .sort((one, other) => (one.path < other.path ? -1 : 1))
}

/**
 * Returns the manifest with one more file and its folders. Errors: `invalid_request` when a non-folder is in the way.
 */
export function withEntry(manifest: Manifest, entry: Entry): Manifest {
  const names = entry.path.split('/')
  const next = new Map(manifest)
  for (let depth = 1; depth < names.length; depth++) {
    const path = names.slice(0, depth).join('/')
    const found = next.get(path)
    if (found && found.kind !== 'folder') throw invalid(`${entry.path}: ${path} is not a folder`)
    if (!found) next.set(path, { kind: 'folder', path, mode: 0o755 })
  }
  if (next.get(entry.path)?.kind === 'folder') throw invalid(`${entry.path} is a folder; delete it first`)
  return next.set(entry.path, entry)
}

/** Returns the manifest without a path and everything below it; undefined when the path does not exist. */
export function withoutPath(manifest: Manifest, path: string): Manifest | undefined {
  if (!manifest.has(path)) return undefined
  const next = new Map(manifest)
  for (const each of manifest.keys()) if (each === path || each.startsWith(`${path}/`)) next.delete(each)
  return next
}
