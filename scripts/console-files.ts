import { createHash } from 'node:crypto'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { extname, join, relative } from 'node:path'
import { brotliCompressSync, gzipSync } from 'node:zlib'
import {
  type BuiltFile,
  type Encoding,
  encodings,
  noncePlaceholder,
  pageName,
} from '../src/server/console/build-list.ts'

const compressible = new Set(['.js', '.css', '.svg', '.json'])
/** Below this a compressed body does not save a packet. */
const minCompressedBytes = 1_000

const compressors: Readonly<Record<Encoding, (content: Buffer) => Buffer>> = {
  br: content => brotliCompressSync(content),
  gzip: content => gzipSync(content, { level: 9 }),
}

/** Lists the files of a build that are served, and compresses them. Throws when the page has no place for a nonce. */
export function listBuild(folder: string): BuiltFile[] {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter(entry => entry.isFile())
    .map(({ parentPath, name }) => relative(folder, join(parentPath, name)).replaceAll('\\', '/'))
    .filter(path => !path.startsWith('.'))
    .sort()
  if (!files.includes(pageName) || !readFileSync(join(folder, pageName), 'utf8').includes(noncePlaceholder))
    throw new Error(`${pageName} does not contain ${noncePlaceholder}`)
  return files.map(path => listed(folder, path))
}

function listed(folder: string, path: string): BuiltFile {
  const file = join(folder, path)
  const content = readFileSync(file)
  const digest = createHash('sha256').update(content).digest('base64url')
  const isCompressed = compressible.has(extname(path)) && content.length >= minCompressedBytes
  if (!isCompressed) return { path, digest, encodings: [] }
  const names = Object.keys(encodings) as Encoding[]
  for (const name of names) writeFileSync(`${file}${encodings[name]}`, compressors[name](content))
  return { path, digest, encodings: names }
}
