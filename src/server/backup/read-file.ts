import { createHash } from 'node:crypto'
import { type FileHandle, open } from 'node:fs/promises'
import { promisify } from 'node:util'
import { zstdDecompress } from 'node:zlib'
import { AppError } from '../platform/errors.ts'
import {
  type BackupEnd,
  type FrameType,
  formatVersion,
  frameHeadBytes,
  frameTypes,
  type Header,
  type Manifest,
  magic,
  maxFrameBytes,
  maxHeaderBytes,
  type TableEnd,
} from './format.ts'
import { createFrameCipher, type FrameCipher } from './frame-cipher.ts'
import { countLines } from './write-file.ts'

const decompressed = promisify(zstdDecompress)

/** A file to read. */
export interface BackupSource {
  readonly path: string
  /** Undefined for a file that is not encrypted. */
  readonly passphrase: string | undefined
  /** Interrupts the reader. */
  readonly stop?: AbortSignal | undefined
}

/** A part of a backup. `manifest` comes first, `end` last. */
export type Part =
  | { readonly type: 'manifest'; readonly manifest: Manifest }
  | { readonly type: 'keys'; readonly keys: readonly string[] }
  | { readonly type: 'table'; readonly name: string }
  | { readonly type: 'rows'; readonly rows: Buffer }
  | { readonly type: 'tableEnd'; readonly end: TableEnd }
  | { readonly type: 'end'; readonly end: BackupEnd }

const damaged = (reason: string, cause?: unknown): AppError =>
  new AppError('invalid_request', `backup is damaged: ${reason}; use another backup`, { cause })

const incomplete = (): AppError =>
  new AppError('invalid_request', 'backup is incomplete: it was interrupted while it was written; use another backup')

/**
 * Yields the parts of a backup and checks them: digest and number of rows of each table, and the digest of the file,
 * which only its end states. Rejects for a file that is incomplete, damaged or no backup, and for a wrong passphrase.
 */
export async function* readBackup(source: BackupSource): AsyncGenerator<Part> {
  const file = await open(source.path, 'r').catch((error: NodeJS.ErrnoException) => {
    throw new AppError('invalid_request', `cannot read ${source.path}: ${error.code ?? error.message}`)
  })
  try {
    const input = inputOf(file)
    const cipher = await cipherOf(await readHeader(input, source.path), source)
    const table = { digest: createHash('sha256'), rows: 0 }
    const totals = { tables: 0, rows: 0 }
    for (;;) {
      source.stop?.throwIfAborted()
      const sha256 = input.digest()
      const part = await readPart(input, cipher)
      if (part.type === 'rows') {
        table.digest.update(part.rows)
        table.rows += countLines(part.rows)
      }
      if (part.type === 'tableEnd') {
        checkTable(part.end, { sha256: table.digest.digest('hex'), rows: table.rows })
        totals.tables += 1
        totals.rows += table.rows
        table.digest = createHash('sha256')
        table.rows = 0
      }
      if (part.type === 'end') {
        checkEnd(part.end, { ...totals, sha256 })
        if ((await input.read(1)).length > 0) throw damaged('it continues after its end')
      }
      yield part
      if (part.type === 'end') return
    }
  } finally {
    await file.close()
  }
}

function checkTable(end: TableEnd, found: Pick<TableEnd, 'sha256' | 'rows'>): void {
  if (end.sha256 !== found.sha256 || end.rows !== found.rows) throw damaged(`digest of table ${end.name} differs`)
}

function checkEnd(end: BackupEnd, found: BackupEnd): void {
  const isSame = end.sha256 === found.sha256 && end.tables === found.tables && end.rows === found.rows
  if (!isSame) throw damaged('digest of the file differs')
}

interface Input {
  /** Reads exactly this many bytes; fewer at the end of the file. */
  read(bytes: number): Promise<Buffer>
  /** SHA-256 of what was read so far. */
  digest(): string
}

function inputOf(file: FileHandle): Input {
  const digest = createHash('sha256')
  return {
    async read(bytes) {
      const buffer = Buffer.alloc(bytes)
      let size = 0
      while (size < bytes) {
        const { bytesRead } = await file.read(buffer, size, bytes - size)
        if (bytesRead === 0) break
        size += bytesRead
      }
      const found = buffer.subarray(0, size)
      digest.update(found)
      return found
    },
    digest: () => digest.copy().digest('hex'),
  }
}

async function readHeader(input: Input, path: string): Promise<Header> {
  const start = await input.read(magic.length)
  if (start.toString('latin1') !== magic) throw new AppError('invalid_request', `${path} is not a Switchyard backup`)
  const version = await readLine(input)
  if (version !== String(formatVersion)) {
    const reason = /^\d{1,9}$/.test(version) ? `backup has format ${version}` : 'backup has an unknown format'
    const next = `this version reads format ${formatVersion}; restore it with the version that wrote it, or a newer one`
    throw new AppError('invalid_request', `${reason}; ${next}`)
  }
  const header = parsed<Header | null>(Buffer.from(await readLine(input)))
  if (typeof header !== 'object' || header === null) throw damaged('header is not an object')
  return header
}

async function readLine(input: Input): Promise<string> {
  const line: Buffer[] = []
  while (line.length < maxHeaderBytes) {
    const byte = await input.read(1)
    if (byte.length === 0) throw incomplete()
    if (byte[0] === 10) return Buffer.concat(line).toString()
    line.push(byte)
  }
  throw damaged('header is too long')
}

async function cipherOf({ encryption }: Header, { passphrase }: BackupSource): Promise<FrameCipher | undefined> {
  if (!encryption && passphrase === undefined) return undefined
  if (!encryption) throw new AppError('invalid_request', 'backup is not encrypted, but a passphrase is given; omit it')
  if (passphrase !== undefined) return createFrameCipher(passphrase, encryption)
  throw new AppError(
    'invalid_request',
    'backup is encrypted; set its passphrase in SWITCHYARD_BACKUP_PASSPHRASE or pass --passphrase-file <file>',
  )
}

const names = new Map(Object.entries(frameTypes).map(([name, byte]) => [byte as number, name as FrameType]))

async function readPart(input: Input, cipher: FrameCipher | undefined): Promise<Part> {
  const head = await input.read(frameHeadBytes)
  if (head.length < frameHeadBytes) throw incomplete()
  const type = names.get(head.readUInt8(0))
  const length = head.readUInt32BE(1)
  if (type === undefined || length > maxFrameBytes) throw damaged('unknown content')
  const body = await input.read(length)
  if (body.length < length) throw incomplete()
  const content = await expanded(cipher ? cipher.decrypt(type, body) : body)
  return partOf(type, content)
}

async function expanded(content: Buffer): Promise<Buffer> {
  try {
    return await decompressed(content, { maxOutputLength: maxFrameBytes })
  } catch (cause) {
    throw damaged('content cannot be decompressed', cause)
  }
}

function partOf(type: FrameType, content: Buffer): Part {
  switch (type) {
    case 'manifest':
      return { type, manifest: parsed<Manifest>(content) }
    case 'keys':
      return { type, ...parsed<{ keys: string[] }>(content) }
    case 'table':
      return { type, ...parsed<{ name: string }>(content) }
    case 'rows':
      return { type, rows: content }
    case 'tableEnd':
      return { type, end: parsed<TableEnd>(content) }
    case 'end':
      return { type, end: parsed<BackupEnd>(content) }
  }
}

function parsed<T>(content: Buffer): T {
  try {
    return JSON.parse(content.toString()) as T
  } catch (cause) {
    throw damaged('content is not JSON', cause)
  }
}
