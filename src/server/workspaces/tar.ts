import type { Entry } from './manifest.ts'

const blockBytes = 512

/** The end of an archive. */
export const tarEnd: Buffer = Buffer.alloc(2 * blockBytes)

/** Returns the zeros that fill the last block of a file. */
export const tarPadding = (size: number): Buffer => Buffer.alloc((blockBytes - (size % blockBytes)) % blockBytes)

/** Returns the header of an entry in POSIX.1-2001 format: long names and link targets are in a preceding record. */
export function tarHead(entry: Entry): Buffer {
  const name = entry.kind === 'folder' ? `${entry.path}/` : entry.path
  const target = entry.kind === 'link' ? entry.target : ''
  const records = [
    ...(Buffer.byteLength(name) > 100 ? [record('path', name)] : []),
    ...(Buffer.byteLength(target) > 100 ? [record('linkpath', target)] : []),
  ]
  const head = block({ name, target, ...factsOf(entry) })
  if (records.length === 0) return head
  const extra = Buffer.concat(records)
  const extraHead = block({ name: 'PaxHeader', target: '', mode: 0o644, size: extra.length, seconds: 0, type: 'x' })
  return Buffer.concat([extraHead, extra, tarPadding(extra.length), head])
}

function factsOf(entry: Entry): Pick<Head, 'mode' | 'size' | 'seconds' | 'type'> {
  if (entry.kind === 'folder') return { mode: entry.mode, size: 0, seconds: 0, type: '5' }
  if (entry.kind === 'link') return { mode: 0o777, size: 0, seconds: 0, type: '2' }
  return { mode: entry.mode, size: entry.size, seconds: Math.max(0, Math.floor(entry.mtimeMs / 1_000)), type: '0' }
}

interface Head {
  readonly name: string
  readonly target: string
  readonly mode: number
  readonly size: number
  readonly seconds: number
  readonly type: '0' | '2' | '5' | 'x'
}

function block({ name, target, mode, size, seconds, type }: Head): Buffer {
  const head = Buffer.alloc(blockBytes)
  head.set(Buffer.from(name).subarray(0, 100), 0)
  octal(head, { at: 100, digits: 7, value: mode })
  octal(head, { at: 108, digits: 7, value: 0 })
  octal(head, { at: 116, digits: 7, value: 0 })
  octal(head, { at: 124, digits: 11, value: size })
  octal(head, { at: 136, digits: 11, value: seconds })
  head.write('        ', 148)
  head.write(type, 156)
  head.set(Buffer.from(target).subarray(0, 100), 157)
  head.write('ustar\x0000', 257)
  const sum = head.reduce((total, byte) => total + byte, 0)
  octal(head, { at: 148, digits: 6, value: sum })
  head.write('\0 ', 154)
  return head
}

function octal(head: Buffer, { at, digits, value }: { at: number; digits: number; value: number }): void {
  head.write(`${value.toString(8).padStart(digits, '0')}\0`, at)
}

/** Returns `<length> <key>=<value>`, where the length includes its own digits. */
function record(key: string, value: string): Buffer {
  const rest = Buffer.byteLength(` ${key}=${value}\n`)
  let length = rest + String(rest).length
  if (String(length).length !== String(rest).length) length = rest + String(length).length
  return Buffer.from(`${length} ${key}=${value}\n`)
}
