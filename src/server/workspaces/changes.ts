import type { FileChange } from '../../contract/files.ts'
import type { Files, Snapshot } from './files.ts'
import { shown } from './files.ts'
import { changedPaths, type Entry, type FileEntry } from './manifest.ts'
import { unifiedPatch } from './patch.ts'

const maxChanges = 1_000
/** Bytes of one text that is compared line by line, and of all texts in one response. */
const maxTextBytes = 256 * 1024
const maxTotalTextBytes = 4 * 1024 * 1024

/** Returns the changes between two states of a session's files: the first 1,000 paths, and the number of the others. */
export async function changesBetween(
  files: Pick<Files, 'contentOf'>,
  from: Snapshot,
  to: Snapshot,
): Promise<{ readonly data: FileChange[]; readonly more: number }> {
  const changed = changedPaths(from.manifest, to.manifest)
  const data: FileChange[] = []
  let bytesLeft = maxTotalTextBytes
  for (const path of changed.slice(0, maxChanges)) {
    const sides = [from, to].map(of => ({ of, entry: of.manifest.get(path) }))
    const bytes = textBytes(sides)
    const fits = bytes <= bytesLeft
    if (fits) bytesLeft -= bytes
    const patch: Patch = fits ? await patchOf(files, path, sides) : { omitted: 'too_large' }
    const [before, after] = sides.map(({ entry }) => (entry ? shown(entry) : null))
    data.push({
      path,
      change: before ? (after ? 'modified' : 'deleted') : 'added',
      before: before ?? null,
      after: after ?? null,
      patch: patch.text ?? null,
      patch_omitted: patch.omitted ?? null,
    })
  }
  return { data, more: changed.length - data.length }
}

interface Patch {
  readonly text?: string
  readonly omitted?: 'binary' | 'too_large' | 'not_a_file'
}

interface Side {
  readonly of: Snapshot
  readonly entry: Entry | undefined
}

/** Returns the bytes that a comparison reads; infinity when a text is too large. */
function textBytes(sides: readonly Side[]): number {
  const sizes = sides.map(({ entry }) => (entry?.kind === 'file' ? entry.size : 0))
  return sizes.some(size => size > maxTextBytes) ? Number.POSITIVE_INFINITY : sizes.reduce((sum, size) => sum + size, 0)
}

async function patchOf(files: Pick<Files, 'contentOf'>, path: string, sides: readonly Side[]): Promise<Patch> {
  const texts: (string | undefined)[] = []
  for (const { of, entry } of sides) {
    if (entry && entry.kind !== 'file') return { omitted: 'not_a_file' }
    const text = entry && (await textOf(files, of, entry))
    if (text === null) return { omitted: 'binary' }
    texts.push(text)
  }
  return { text: unifiedPatch(path, texts[0], texts[1]) }
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** Returns null for a file that is not text. */
async function textOf(files: Pick<Files, 'contentOf'>, { owner }: Snapshot, entry: FileEntry): Promise<string | null> {
  const pieces: Buffer[] = []
  for await (const piece of files.contentOf(owner, entry)) pieces.push(piece)
  try {
    const text = utf8.decode(Buffer.concat(pieces))
    return text.includes('\0') ? null : text
  } catch {
    return null
  }
}
