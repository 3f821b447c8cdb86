import { randomBytes } from 'node:crypto'
import {
  closeSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { AppError } from './errors.ts'

interface Place {
  /** Base64 of 32 bytes each, validated by the configuration; empty for the key file of the data folder. */
  readonly given: readonly string[]
  readonly dataDir: string
}

const keyBytes = 32

/** True for 32 bytes in base64, as `openssl rand -base64 32` writes them. */
export const isEncryptionKey = (text: string): boolean => /^[A-Za-z0-9+/]{43}=$/.test(text)

/** Returns the path of the key file, for when no keys are configured: one key per line, the first encrypts. */
export const encryptionKeyFile = (dataDir: string): string => join(dataDir, 'encryption.key')

/**
 * Returns the encryption keys, the encrypting one first; undefined if none is configured and the file does not exist.
 * Throws `unavailable` for an unusable file: other users may access it, or it contains other text than keys. Security:
 * S16.
 */
export function loadEncryptionKeys({ given, dataDir }: Place): readonly Buffer[] | undefined {
  if (given.length > 0) return given.map(fromBase64)
  const path = encryptionKeyFile(dataDir)
  const text = textOf(path)
  if (text === undefined) return undefined
  const mode = statSync(path).mode & 0o777
  if (mode & 0o077) {
    throw unusable(
      `${path} can be read or written by other users (mode ${mode.toString(8)}): the encryption key may be compromised; ` +
        `run chmod 600 ${path}`,
    )
  }
  const lines = text.split('\n').map(line => line.trim())
  const keys = lines.filter(line => line !== '')
  if (keys.length === 0 || !keys.every(isEncryptionKey)) {
    throw unusable(
      `${path} does not contain encryption keys of ${keyBytes} bytes in base64, one per line; restore it from a backup: ` +
        'values encrypted with its key cannot be decrypted with a new one',
    )
  }
  return keys.map(fromBase64)
}

/** Creates the file with one new key, private to this user. One of several concurrent processes wins. */
export function makeEncryptionKey(dataDir: string): void {
  const path = encryptionKeyFile(dataDir)
  mkdirSync(dataDir, { recursive: true })
  const draft = `${path}.${randomBytes(6).toString('hex')}`
  try {
    writeDurably(draft, `${randomBytes(keyBytes).toString('base64')}\n`)
    // A link never replaces an existing file, and creates it atomically.
    linkSync(draft, path)
    syncFolder(dirname(path))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  } finally {
    rmSync(draft, { force: true })
  }
}

/**
 * Adds keys, in base64, to the file: those that it has come after them. The file is replaced at once, or not at all.
 * The caller must prevent concurrent calls.
 */
export function addEncryptionKeys(dataDir: string, keys: readonly string[]): void {
  const path = encryptionKeyFile(dataDir)
  const before = (loadEncryptionKeys({ given: [], dataDir }) ?? []).map(key => key.toString('base64'))
  const draft = `${path}.${randomBytes(6).toString('hex')}`
  mkdirSync(dataDir, { recursive: true })
  try {
    writeDurably(draft, `${[...new Set([...keys, ...before])].join('\n')}\n`)
    renameSync(draft, path)
    syncFolder(dirname(path))
  } finally {
    rmSync(draft, { force: true })
  }
}

const fromBase64 = (text: string): Buffer => Buffer.from(text, 'base64')

const unusable = (message: string, cause?: unknown): AppError => new AppError('unavailable', message, { cause })

function textOf(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw unusable(`cannot read the encryption key: ${(error as Error).message}`, error)
  }
}

/** Writes durably before the key is used: a power failure must not leave encrypted values without their key. */
function writeDurably(path: string, text: string): void {
  const file = openSync(path, 'wx', 0o600)
  try {
    writeSync(file, text)
    fsyncSync(file)
  } finally {
    closeSync(file)
  }
}

function syncFolder(path: string): void {
  const folder = openSync(path, 'r')
  try {
    fsyncSync(folder)
  } finally {
    closeSync(folder)
  }
}
