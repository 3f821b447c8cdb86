import { invalid } from '../platform/errors.ts'

const maxBytes = 1024
const maxSegments = 20
/** Control and format characters, and the separators of lines and paragraphs. */
const unusable = /[\p{Cc}\p{Cf}\u2028\u2029]/u

/** Throws `invalid_request` for a path that a memory cannot have. Source: Managed Agents, memories. */
export function checkMemoryPath(path: string, field: string): void {
  const problem = problemOf(path)
  if (problem !== undefined) throw invalid(`${field} ${problem}`)
}

function problemOf(path: string): string | undefined {
  if (!path.startsWith('/')) return 'must begin with /'
  if (Buffer.byteLength(path) > maxBytes) return `must have at most ${maxBytes} bytes`
  if (unusable.test(path) || !path.isWellFormed()) return 'must not contain control or format characters'
  if (path.normalize('NFC') !== path) return 'must be in Unicode Normalization Form C'
  const segments = path.slice(1).split('/')
  if (segments.length > maxSegments) return `must have at most ${maxSegments} segments`
  if (segments.some(segment => ['', '.', '..'].includes(segment))) return 'must have no segment that is empty, . or ..'
  return undefined
}

/** Returns the folder under which the agent of a session sees a store; `taken` are those of its other stores. */
export function mountPathOf(name: string, taken: ReadonlySet<string>): string {
  const slug =
    name
      .toLowerCase()
      .replaceAll(/[^a-z0-9]+/g, '-')
      .replaceAll(/^-|-$/g, '') || 'store'
  const folder = `/mnt/memory/${slug}`
  for (let count = 2; taken.has(folder); count++) {
    const other = `${folder}-${count}`
    if (!taken.has(other)) return other
  }
  return folder
}
