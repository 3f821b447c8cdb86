import { createCipheriv, createDecipheriv, randomBytes, scrypt } from 'node:crypto'
import { promisify } from 'node:util'
import { AppError } from '../platform/errors.ts'
import { type FrameType, frameTypes, type PassphraseSettings } from './format.ts'

/** Encrypts or decrypts the frames of one file in their order: a removed, repeated or moved frame cannot be decrypted. */
export interface FrameCipher {
  encrypt(type: FrameType, content: Buffer): Buffer
  /** Throws for a wrong passphrase or modified content. */
  decrypt(type: FrameType, content: Buffer): Buffer
}

const algorithm = 'aes-256-gcm'
const tagBytes = 16
const keyBytes = 32
const derive = promisify<string, Buffer, number, object, Buffer>(scrypt)

/** Upper limits of the settings that a file may ask for: 1 GiB of memory. */
const maxCost = 2 ** 20
const maxBlockSize = 8

const isWithin = (value: number, max: number): boolean => Number.isInteger(value) && value > 1 && value <= max

/** Returns settings for a new file: scrypt with 64 MiB of memory. */
export const newPassphraseSettings = (): PassphraseSettings => ({
  kdf: 'scrypt',
  cost: 2 ** 16,
  blockSize: 8,
  parallelization: 1,
  salt: randomBytes(16).toString('base64'),
})

/** Returns the cipher of a file. Rejects for settings that no backup has. */
export async function createFrameCipher(passphrase: string, settings: PassphraseSettings): Promise<FrameCipher> {
  const { kdf, cost, blockSize, parallelization, salt } = settings
  const isKnown =
    kdf === 'scrypt' && isWithin(cost, maxCost) && isWithin(blockSize, maxBlockSize) && parallelization === 1
  if (!isKnown || (cost & (cost - 1)) !== 0 || typeof salt !== 'string')
    throw new AppError('invalid_request', 'backup is encrypted with unknown settings')
  const options = { cost, blockSize, parallelization, maxmem: 256 * cost * blockSize + 2 ** 20 }
  const key = await derive(passphrase, Buffer.from(salt, 'base64'), keyBytes, options)
  let count = 0
  const next = (type: FrameType) => {
    // The key is new for every file, so a counter never repeats a nonce.
    const nonce = Buffer.alloc(12)
    nonce.writeUIntBE(count, 6, 6)
    count += 1
    return { nonce, bound: Buffer.of(frameTypes[type]) }
  }
  return {
    encrypt(type, content) {
      const { nonce, bound } = next(type)
      const cipher = createCipheriv(algorithm, key, nonce, { authTagLength: tagBytes }).setAAD(bound)
      return Buffer.concat([cipher.update(content), cipher.final(), cipher.getAuthTag()])
    },
    decrypt(type, content) {
      const isFirst = count === 0
      const { nonce, bound } = next(type)
      try {
        const decipher = createDecipheriv(algorithm, key, nonce, { authTagLength: tagBytes })
        decipher.setAAD(bound).setAuthTag(content.subarray(-tagBytes))
        return Buffer.concat([decipher.update(content.subarray(0, -tagBytes)), decipher.final()])
      } catch (cause) {
        const reason = isFirst ? 'wrong passphrase, or the backup is damaged' : 'backup is damaged'
        throw new AppError('invalid_request', reason, { cause })
      }
    },
  }
}
