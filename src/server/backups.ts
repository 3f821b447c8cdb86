import { rm, stat } from 'node:fs/promises'
import { apiVersion } from '../contract/api.ts'
import { dumpDatabase } from './backup/dump.ts'
import type { Manifest, TableEnd } from './backup/format.ts'
import { type BackupSource, readBackup } from './backup/read-file.ts'
import { asFullDisk, moveInPlace, targetOf } from './backup/target-file.ts'
import { type BackupWriter, createBackupFile } from './backup/write-file.ts'
import type { Config } from './config/config.ts'
import { connectAlone, endOnStop } from './db/connect.ts'
import { openDatabase } from './open-database.ts'
import { loadEncryptionKeys } from './platform/encryption-key.ts'
import { AppError } from './platform/errors.ts'
import type { Log } from './platform/log.ts'

interface Inputs {
  readonly config: Config
  readonly log: Log
}

export interface BackupOptions {
  /** A file that does not exist, or a folder, in which the file is named by the time. */
  readonly path: string
  /** Encrypts the file. */
  readonly passphrase: string | undefined
  /** True: the file contains the encryption keys. Needs a passphrase. */
  readonly includesKeys: boolean
  /** Interrupts the backup. */
  readonly stop?: AbortSignal | undefined
}

/** Content of a backup whose digests were checked. */
export interface BackupReport {
  readonly file: string
  readonly bytes: number
  readonly is_encrypted: boolean
  readonly manifest: Omit<Manifest, 'tables'>
  readonly tables: readonly TableEnd[]
}

/** Writes a backup and reads it again to check it. The service may run meanwhile. A failure leaves no file. */
export async function makeBackup(inputs: Inputs, options: BackupOptions): Promise<BackupReport> {
  try {
    return await makeAndCheck(inputs, options)
  } catch (cause) {
    if (!options.stop?.aborted) throw cause
    throw new AppError('conflict', 'interrupted; no file was written', { cause })
  }
}

async function makeAndCheck({ config, log }: Inputs, options: BackupOptions): Promise<BackupReport> {
  const { path, passphrase, includesKeys, stop } = options
  if (includesKeys && passphrase === undefined)
    throw new AppError('invalid_request', 'encryption keys are stored only in a backup with a passphrase; set one')
  const keys = includesKeys ? keysOf(config) : []
  const file = await targetOf(path)
  const partial = `${file}.partial`
  const database = await openDatabase({ config, log })
  try {
    const client = await connectAlone(database.url, 'switchyard backup')
    const detach = endOnStop(client, stop)
    try {
      await write(partial, passphrase, writer => {
        const about = {
          version: apiVersion,
          database: config.databaseUrl === undefined ? 'embedded' : 'external',
        } as const
        return dumpDatabase({ client, writer, about, keys })
      })
    } finally {
      detach()
      await client.end()
    }
  } finally {
    await database.close()
  }
  try {
    const report = await checkBackup({ path: partial, passphrase, stop })
    await moveInPlace(partial, file)
    return { ...report, file }
  } catch (error) {
    await rm(partial, { force: true })
    throw error
  }
}

function keysOf({ encryptionKeys: given, dataDir }: Config): string[] {
  const keys = loadEncryptionKeys({ given, dataDir })
  if (!keys) throw new AppError('unavailable', 'no encryption key is given; set SWITCHYARD_ENCRYPTION_KEY')
  return keys.map(key => key.toString('base64'))
}

async function write(
  path: string,
  passphrase: string | undefined,
  fill: (writer: BackupWriter) => Promise<unknown>,
): Promise<void> {
  const writer = await createBackupFile(path, passphrase)
  try {
    await fill(writer)
    await writer.finish()
  } catch (error) {
    await rm(path, { force: true })
    throw asFullDisk(path, error)
  } finally {
    await writer.close()
  }
}

/** Reads all of a backup and checks its digests. Rejects for a file that is incomplete, damaged or no backup. */
export async function checkBackup(source: BackupSource): Promise<BackupReport> {
  let manifest: Manifest | undefined
  const tables: TableEnd[] = []
  for await (const part of readBackup(source)) {
    if (part.type === 'manifest') manifest = part.manifest
    if (part.type === 'tableEnd') tables.push(part.end)
  }
  if (!manifest) throw new AppError('invalid_request', 'backup is damaged: it has no manifest')
  const { tables: listed, ...about } = manifest
  if (listed.map(({ name }) => name).join() !== tables.map(({ name }) => name).join())
    throw new AppError('invalid_request', 'backup is damaged: its tables are not those of its manifest')
  const { size } = await stat(source.path)
  return { file: source.path, bytes: size, is_encrypted: source.passphrase !== undefined, manifest: about, tables }
}
