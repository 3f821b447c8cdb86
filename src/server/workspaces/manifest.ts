/** A file as a checkpoint holds it. */
export interface FileEntry {
  readonly kind: 'file'
  /** Relative to the workspace, without a dot at its start. */
  readonly path: string
  /** Permission bits. */
  readonly mode: number
  readonly size: number
  /** SHA-256 of the content, in hexadecimal digits. */
  readonly hash: string
  /** Hashes of its pieces, in order; none for an empty file. */
  readonly pieces: readonly string[]
  readonly mtimeMs: number
  /** Tells one state of the file from another on the machine that made the checkpoint; empty when that is in doubt. */
  readonly stat: string
}

export interface FolderEntry {
  readonly kind: 'folder'
  readonly path: string
  readonly mode: number
}

/** A symbolic link, which no checkpoint follows. */
export interface LinkEntry {
  readonly kind: 'link'
  readonly path: string
  readonly target: string
}

export type Entry = FileEntry | FolderEntry | LinkEntry

/** All entries of a workspace by their paths. */
export type Manifest = ReadonlyMap<string, Entry>

/** What turns one manifest into the next. */
export interface Change {
  readonly set: readonly Entry[]
  /** Paths that are no longer there. */
  readonly gone: readonly string[]
}

export const emptyManifest: Manifest = new Map()

/** Of how much a stored manifest is put together, besides the one that was stored with all its entries. */
export interface Chain {
  readonly rows: number
  readonly entries: number
}

export const noChain: Chain = { rows: 0, entries: 0 }
const mostRows = 50

export const longer = ({ rows, entries }: Chain, { set, gone }: Change): Chain => ({
  rows: rows + 1,
  entries: entries + set.length + gone.length,
})

/** What is stored of the next manifest; undefined: all its entries, since reading many changes costs more. */
export function storedChange(
  before: { readonly manifest: Manifest; readonly chain: Chain } | undefined,
  after: Manifest,
): Change | undefined {
  if (!before) return undefined
  const change = changeOf(before.manifest, after)
  const { rows, entries } = longer(before.chain, change)
  return rows > mostRows || entries > after.size ? undefined : change
}

/** The change from one manifest to another; entries that only differ in `stat` count as changed. */
export function changeOf(before: Manifest, after: Manifest): Change {
  const set = [...after.values()].filter(entry => {
    const old = before.get(entry.path)
    return old !== entry && (old === undefined || encoded(old) !== encoded(entry))
  })
  return { set, gone: [...before.keys()].filter(path => !after.has(path)) }
}

/** True when the two say the same of a file, wherever it was looked at. */
export function isSame(one: Entry, other: Entry): boolean {
  if (one.kind === 'file' && other.kind === 'file')
    return one.hash === other.hash && one.size === other.size && one.mode === other.mode
  if (one.kind === 'link' && other.kind === 'link') return one.target === other.target
  return one.kind === 'folder' && other.kind === 'folder' && one.mode === other.mode
}

export function applied(before: Manifest, { set, gone }: Change): Manifest {
  const after = new Map(before)
  for (const path of gone) after.delete(path)
  for (const entry of set) after.set(entry.path, entry)
  return after
}

/** The hashes of all pieces of these entries, each once. */
export const piecesOf = (entries: Iterable<Entry>): string[] => [
  ...new Set([...entries].flatMap(entry => (entry.kind === 'file' ? entry.pieces : []))),
]

/** How many files and links there are, and their bytes. */
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

export const writeChange = ({ set, gone }: Change): string => JSON.stringify({ set: set.map(rowOf), gone })

export function readChange(text: string): Change {
  const { set, gone } = JSON.parse(text) as { readonly set: readonly Row[]; readonly gone: readonly string[] }
  return { set: set.map(entryOf), gone }
}

const encoded = (entry: Entry): string => JSON.stringify(rowOf(entry))

function rowOf(entry: Entry): Row {
  if (entry.kind === 'folder') return ['d', entry.path, entry.mode]
  if (entry.kind === 'link') return ['l', entry.path, entry.target]
  const { path, mode, size, hash, pieces, mtimeMs, stat } = entry
  return ['f', path, mode, size, hash, pieces.length === 1 ? 0 : pieces, mtimeMs, stat]
}

function entryOf(row: Row): Entry {
  if (row[0] === 'd') return { kind: 'folder', path: row[1], mode: row[2] }
  if (row[0] === 'l') return { kind: 'link', path: row[1], target: row[2] }
  const [, path, mode, size, hash, pieces, mtimeMs, stat] = row
  return { kind: 'file', path, mode, size, hash, pieces: pieces === 0 ? [hash] : pieces, mtimeMs, stat }
}
