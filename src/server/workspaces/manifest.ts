/** A file in a checkpoint. */
export interface FileEntry {
  readonly kind: 'file'
  /** Path relative to the workspace, without a leading dot. */
  readonly path: string
  /** Permission bits. */
  readonly mode: number
  readonly size: number
  /** SHA-256 of the content, in hexadecimal digits. */
  readonly hash: string
  /** Hashes of its pieces, in order; empty for an empty file. */
  readonly pieces: readonly string[]
  readonly mtimeMs: number
  /** Identifies the state of the file on the machine that made the checkpoint; empty when it is unreliable. */
  readonly stat: string
}

export interface FolderEntry {
  readonly kind: 'folder'
  readonly path: string
  readonly mode: number
}

/** A symbolic link. Checkpoints never follow it. */
export interface LinkEntry {
  readonly kind: 'link'
  readonly path: string
  readonly target: string
}

export type Entry = FileEntry | FolderEntry | LinkEntry

/** All entries of a workspace by path. */
export type Manifest = ReadonlyMap<string, Entry>

/** The difference between two manifests. */
export interface Change {
  readonly set: readonly Entry[]
  /** Removed paths. */
  readonly removed: readonly string[]
}

export const emptyManifest: Manifest = new Map()

/** Number of changes, and of their entries, since the last checkpoint that was stored with all entries. */
export interface Chain {
  readonly rows: number
  readonly entries: number
}

export const noChain: Chain = { rows: 0, entries: 0 }
const maxRows = 50

export const extendChain = ({ rows, entries }: Chain, { set, removed }: Change): Chain => ({
  rows: rows + 1,
  entries: entries + set.length + removed.length,
})

/**
 * Returns the change to store for the next manifest; undefined when all entries must be stored, as a long chain is slow
 * to read.
 */
export function storedChange(
  before: { readonly manifest: Manifest; readonly chain: Chain } | undefined,
  after: Manifest,
): Change | undefined {
  if (!before) return undefined
  const change = changeOf(before.manifest, after)
  const { rows, entries } = extendChain(before.chain, change)
  return rows > maxRows || entries > after.size ? undefined : change
}

/** Returns the change from one manifest to another; entries that differ only in `stat` count as changed. */
export function changeOf(before: Manifest, after: Manifest): Change {
  const set = [...after.values()].filter(entry => {
    const old = before.get(entry.path)
    return old !== entry && (old === undefined || encoded(old) !== encoded(entry))
  })
  return { set, removed: [...before.keys()].filter(path => !after.has(path)) }
}

/** True when two entries describe the same content, independent of the machine. */
export function isSame(one: Entry, other: Entry): boolean {
  if (one.kind === 'file' && other.kind === 'file')
    return one.hash === other.hash && one.size === other.size && one.mode === other.mode
  if (one.kind === 'link' && other.kind === 'link') return one.target === other.target
  return one.kind === 'folder' && other.kind === 'folder' && one.mode === other.mode
}

/** Returns the paths that differ, in order. A folder that appears or disappears with its files is not included. */
export const changedPaths = (before: Manifest, after: Manifest): string[] =>
  [...new Set([...before.keys(), ...after.keys()])].filter(path => isChange(before.get(path), after.get(path))).sort()

function isChange(before: Entry | undefined, after: Entry | undefined): boolean {
  if (before === after) return false
  if (before?.kind === 'folder' || after?.kind === 'folder')
    return before !== undefined && after !== undefined && before.kind !== after.kind
  return before === undefined || after === undefined || !isSame(before, after)
}

export function applied(before: Manifest, { set, removed }: Change): Manifest {
  const after = new Map(before)
  for (const path of removed) after.delete(path)
  for (const entry of set) after.set(entry.path, entry)
  return after
}

/** Returns the distinct hashes of all pieces of these entries. */
export const piecesOf = (entries: Iterable<Entry>): string[] => [
  ...new Set([...entries].flatMap(entry => (entry.kind === 'file' ? entry.pieces : []))),
]

/** Returns the number of files and links, and their bytes. */
export function sizeOf(manifest: Manifest): { readonly files: number; readonly bytes: number } {
  let files = 0
  let bytes = 0
  for (const entry of manifest.values()) {
    if (entry.kind !== 'folder') files++
    if (entry.kind === 'file') bytes += entry.size
  }
  return { files, bytes }
}

type Row =
  | readonly ['f', string, number, number, string, readonly string[] | 0, number, string]
  | readonly ['d', string, number]
  | readonly ['l', string, string]

export const writeChange = ({ set, removed: gone }: Change): string => JSON.stringify({ set: set.map(rowOf), gone })

/** Throws for a path that leads out of the workspace: a restored database may come from anywhere. */
export function readChange(text: string): Change {
  const { set, gone } = JSON.parse(text) as { readonly set: readonly Row[]; readonly gone: readonly string[] }
  return { set: set.map(entryOf), removed: gone }
}

const encoded = (entry: Entry): string => JSON.stringify(rowOf(entry))

function rowOf(entry: Entry): Row {
  if (entry.kind === 'folder') return ['d', entry.path, entry.mode]
  if (entry.kind === 'link') return ['l', entry.path, entry.target]
  const { path, mode, size, hash, pieces, mtimeMs, stat } = entry
  return ['f', path, mode, size, hash, pieces.length === 1 ? 0 : pieces, mtimeMs, stat]
}

/** Matches an empty name, a dot, two dots and NUL. */
const unusable = /(^|\/)\.{0,2}(\/|$)|\0/

function entryOf(row: Row): Entry {
  if (unusable.test(row[1])) throw new Error(`a checkpoint has the unusable path ${JSON.stringify(row[1])}`)
  if (row[0] === 'd') return { kind: 'folder', path: row[1], mode: row[2] & 0o777 }
  if (row[0] === 'l') return { kind: 'link', path: row[1], target: row[2] }
  const [, path, mode, size, hash, pieces, mtimeMs, stat] = row
  return { kind: 'file', path, mode: mode & 0o777, size, hash, pieces: pieces === 0 ? [hash] : pieces, mtimeMs, stat }
}
