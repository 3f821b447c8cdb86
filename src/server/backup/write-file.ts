import { createHash } from 'node:crypto'
import { type FileHandle, open, rm } from 'node:fs/promises'
import { promisify } from 'node:util'
import { zstdCompress } from 'node:zlib'
import {
  type FrameType,
  formatVersion,
  frameBytes,
  frameHeadBytes,
  frameTypes,
  type Header,
  magic,
  type TableEnd,
} from './format.ts'
import { createFrameCipher, type FrameCipher, newPassphraseSettings } from './frame-cipher.ts'
import { asFullDisk, cannotCreate } from './target-file.ts'

const compressed = promisify(zstdCompress)

/** Writes one backup file, frame by frame. Memory use does not depend on the size of the file. */
export interface BackupWriter {
  /** Appends a frame with JSON. */
  json(type: Exclude<FrameType, 'rows' | 'end'>, value: object): Promise<void>
  /** Appends a table with the rows that `chunks` returns in the text format of COPY. */
  table(name: string, chunks: AsyncIterable<Buffer>): Promise<TableEnd>
  /** Appends the last frame, and writes everything to the disk. Returns the size of the file. */
  finish(): Promise<number>
  /** Closes the file; without `finish` it stays incomplete. */
  close(): Promise<void>
}

/** Creates the file, readable by this user only. Rejects when it exists. */
export async function createBackupFile(path: string, passphrase: string | undefined): Promise<BackupWriter> {
  const encryption = passphrase === undefined ? undefined : newPassphraseSettings()
  const cipher = encryption && (await createFrameCipher(passphrase ?? '', encryption))
  const file = await open(path, 'wx', 0o600).catch(error => {
    throw cannotCreate(path, error)
  })
  const output = outputOf(file, cipher)
  const header: Header = encryption ? { encryption } : {}
  await output.write(Buffer.from(`${magic}${formatVersion}\n${JSON.stringify(header)}\n`)).catch(async error => {
    await file.close()
    await rm(path, { force: true })
    throw asFullDisk(path, error)
  })
  const totals = { tables: 0, rows: 0 }
  const json: BackupWriter['json'] = (type, value) => output.frame(type, Buffer.from(JSON.stringify(value)))
  return {
    json,
    async table(name, chunks) {
      await json('table', { name })
      const content = { rows: 0, bytes: 0, digest: createHash('sha256') }
      for await (const rows of inFrames(chunks)) {
        content.rows += countLines(rows)
        content.bytes += rows.length
        content.digest.update(rows)
        await output.frame('rows', rows)
      }
      const end = { name, rows: content.rows, bytes: content.bytes, sha256: content.digest.digest('hex') }
      await json('tableEnd', end)
      totals.tables += 1
      totals.rows += end.rows
      return end
    },
    async finish() {
      const end = { ...totals, sha256: output.digest() }
      await output.frame('end', Buffer.from(JSON.stringify(end)))
      await file.sync()
      return output.bytes()
    },
    close: () => file.close(),
  }
}

interface Output {
  write(bytes: Buffer): Promise<void>
  frame(type: FrameType, content: Buffer): Promise<void>
  /** SHA-256 of what was written so far. */
  digest(): string
  /** Number of bytes written so far. */
  bytes(): number
}

function outputOf(file: FileHandle, cipher: FrameCipher | undefined): Output {
  const digest = createHash('sha256')
  let bytes = 0
  const write = async (part: Buffer): Promise<void> => {
    digest.update(part)
    bytes += part.length
    await file.writeFile(part)
  }
  return {
    write,
    async frame(type, content) {
      const small = await compressed(content)
      const body = cipher ? cipher.encrypt(type, small) : small
      const head = Buffer.alloc(frameHeadBytes)
      head.writeUInt8(frameTypes[type], 0)
      head.writeUInt32BE(body.length, 1)
      await write(Buffer.concat([head, body]))
    },
    digest: () => digest.copy().digest('hex'),
    bytes: () => bytes,
  }
}

/** Collects chunks of any size into frames. */
async function* inFrames(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let waiting: Buffer[] = []
  let size = 0
  for await (const chunk of chunks) {
    for (let from = 0; from < chunk.length; ) {
      const part = chunk.subarray(from, from + frameBytes - size)
      waiting.push(part)
      size += part.length
      from += part.length
      if (size < frameBytes) continue
      yield Buffer.concat(waiting)
      waiting = []
      size = 0
    }
  }
  if (size > 0) yield Buffer.concat(waiting)
}

/** Returns the number of rows in the text format of COPY, which escapes line ends in values. */
export function countLines(rows: Buffer): number {
  let count = 0
  for (let at = rows.indexOf(10); at >= 0; at = rows.indexOf(10, at + 1)) count += 1
  return count
}
