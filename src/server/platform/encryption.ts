import { createCipheriv, createDecipheriv, createHash, hkdfSync, randomBytes } from 'node:crypto'

/** Encryption keys of the service. The first encrypts; all decrypt. */
export interface Keyring {
  /** Id of the key that encrypts. Does not reveal the key. */
  readonly currentId: string
  /** Ids of all keys; the key that encrypts comes first. */
  readonly ids: readonly string[]
  /** Returns a sub-key of 32 bytes of key `keyId` for this purpose; undefined when the ring does not have the key. */
  derive(keyId: string, purpose: string): Buffer | undefined
}

/** Encrypts and decrypts values of one purpose. A value encrypted for another purpose cannot be decrypted here. */
export interface ValueCipher {
  /** `bound` are texts that identify the row, such as its owner, name and version. `decrypt` needs the same texts. */
  encrypt(plain: string | Buffer, bound: readonly string[]): EncryptedValue
  /** Returns the plain value. Throws DecryptionError. */
  decrypt(sealed: Buffer, bound: readonly string[]): Buffer
}

/** An encrypted value, in the columns that every table with such values has. */
export interface EncryptedValue {
  readonly sealed: Buffer
  /** Id of the encryption key that decrypts it. */
  readonly key_id: string
}

/** A value cannot be decrypted: its key is not in the ring, or the value or its bound texts were modified. */
export class DecryptionError extends Error {
  readonly reason: 'unknown_key' | 'changed'

  constructor(reason: 'unknown_key' | 'changed', options?: ErrorOptions) {
    super(
      reason === 'unknown_key'
        ? 'encrypted with an encryption key that is not configured'
        : 'encrypted value was modified',
      options,
    )
    this.name = 'DecryptionError'
    this.reason = reason
  }
}

/** Returns a ring of keys of 32 bytes each; the first encrypts. Throws when `keys` is empty. */
export function createKeyring(keys: readonly Buffer[]): Keyring {
  const byId = new Map(keys.map(key => [keyIdOf(key), key]))
  const [currentId] = byId.keys()
  if (currentId === undefined) throw new Error('keyring has no key')
  return {
    currentId,
    ids: [...byId.keys()],
    derive(keyId, purpose) {
      const key = byId.get(keyId)
      return key && subKey(key, purpose)
    },
  }
}

/** AES-256-GCM with a sub-key of each key of the ring. Source: Security, S11 and S12. */
export function createValueCipher(keyring: Keyring, purpose: string): ValueCipher {
  const subKeys = new Map(keyring.ids.map(id => [id, keyring.derive(id, purpose)]))
  const keyOf = (id: string): Buffer => {
    const key = subKeys.get(id)
    if (!key) throw new DecryptionError('unknown_key')
    return key
  }

  return {
    encrypt(plain, bound) {
      const nonce = randomBytes(nonceBytes)
      const header = Buffer.concat([Buffer.of(format), Buffer.from(keyring.currentId, 'hex'), nonce])
      const cipher = createCipheriv(algorithm, keyOf(keyring.currentId), nonce, { authTagLength: tagBytes })
      cipher.setAAD(associated(purpose, bound))
      const text = typeof plain === 'string' ? cipher.update(plain, 'utf8') : cipher.update(plain)
      const sealed = Buffer.concat([header, text, cipher.final(), cipher.getAuthTag()])
      return { sealed, key_id: keyring.currentId }
    },
    decrypt(sealed, bound) {
      if (sealed[0] !== format || sealed.length < headerBytes + tagBytes) throw new DecryptionError('changed')
      const key = keyOf(sealed.toString('hex', 1, 1 + keyIdBytes))
      const nonce = sealed.subarray(1 + keyIdBytes, headerBytes)
      const decipher = createDecipheriv(algorithm, key, nonce, { authTagLength: tagBytes })
      decipher.setAAD(associated(purpose, bound)).setAuthTag(sealed.subarray(-tagBytes))
      const text = decipher.update(sealed.subarray(headerBytes, -tagBytes))
      try {
        return Buffer.concat([text, decipher.final()])
      } catch (cause) {
        throw new DecryptionError('changed', { cause })
      }
    },
  }
}

// An encrypted value: format, key id, nonce, ciphertext, tag.
const format = 1
const keyIdBytes = 4
const nonceBytes = 12
const tagBytes = 16
const headerBytes = 1 + keyIdBytes + nonceBytes
const algorithm = 'aes-256-gcm'

const subKey = (key: Buffer, purpose: string): Buffer =>
  Buffer.from(hkdfSync('sha256', key, '', `switchyard ${purpose}`, 32))

const keyIdOf = (key: Buffer): string =>
  createHash('sha256')
    .update(subKey(key, 'key id'))
    .digest('hex')
    .slice(0, 2 * keyIdBytes)

/** Returns each part preceded by its length, so that two different lists of parts never give the same bytes. */
function associated(purpose: string, bound: readonly string[]): Buffer {
  const parts = [purpose, ...bound].map(part => Buffer.from(part))
  return Buffer.concat([Buffer.of(format), ...parts.flatMap(part => [lengthOf(part), part])])
}

function lengthOf(part: Buffer): Buffer {
  const length = Buffer.alloc(4)
  length.writeUInt32BE(part.length)
  return length
}
