import { randomBytes } from 'node:crypto'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

export const encryptionKeyBytes = 32

interface Options {
  /** Base64 of 32 bytes, checked by the configuration; undefined: the key of the data folder. */
  readonly given: string | undefined
  readonly dataDir: string
}

/** The secret that all sealing starts from: the configured one, else a file of mode 0600 that is made once. Gaps: section 2. */
export function loadEncryptionKey({ given, dataDir }: Options): Buffer {
  if (given !== undefined) return Buffer.from(given, 'base64')
  const path = join(dataDir, 'encryption.key')
  mkdirSync(dataDir, { recursive: true })
  try {
    // The flag makes one of two processes that start at a time the maker; the other reads.
    writeFileSync(path, `${randomBytes(encryptionKeyBytes).toString('base64')}\n`, { mode: 0o600, flag: 'wx' })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  }
  const key = Buffer.from(readFileSync(path, 'utf8').trim(), 'base64')
  if (key.length !== encryptionKeyBytes) throw new Error(`${path} does not hold a key of ${encryptionKeyBytes} bytes`)
  return key
}
