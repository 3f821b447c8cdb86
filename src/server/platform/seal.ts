import { createCipheriv, createDecipheriv, createHash, hkdfSync, randomBytes } from 'node:crypto'

/** The encryption keys of the service. The first seals, all open. */
export interface Keyring {
  /** Names the key that seals. Says nothing of the key. */
  readonly currentId: string
  /** All keys, the one that seals first. */
  readonly ids: readonly string[]
  /** 32 bytes of key `keyId` for this purpose alone; undefined when there is no such key. */
  derive(keyId: string, purpose: string): Buffer | undefined
}

/** Seals and opens for one purpose; what another purpose has sealed does not open here. */
export interface Sealer {
  /** `bound` is what the row says of itself, such as its owner, name and version: without the same texts it does not open. */
  seal(plain: string | Buffer, bound: readonly string[]): Sealed
  /** What was sealed. Throws SealError. */
  open(sealed: Buffer, bound: readonly string[]): Buffer
}

export interface Sealed {
  readonly sealed: Buffer
  /** Names the encryption key that opens it. */
  readonly key_id: string
}

/** A sealed value does not open: its key is not in the ring, or it or what is bound to it was changed. */
export class SealError extends Error {
  readonly reason: 'unknown_key' | 'changed'

  constructor(reason: 'unknown_key' | 'changed', options?: ErrorOptions) {
    super(
      reason === 'unknown_key' ? 'sealed with an encryption key that is not given' : 'sealed value was changed',
      options,
    )
    this.name = 'SealError'
    this.reason = reason
  }
}

/** A ring of keys of 32 bytes, the first of which seals. Needs at least one. */
export function createKeyring(keys: readonly Buffer[]): Keyring {
  const byId = new Map(keys.map(key => [keyIdOf(key), key]))
  const [currentId] = byId.keys()
  if (currentId === undefined) throw new Error('a keyring needs a key')
  return {
    currentId,
    ids: [...byId.keys()],
    derive(keyId, purpose) {
      const key = byId.get(keyId)
      return key && subKey(key, purpose)
    },
  }
}

/** AES-256-GCM under a sub-key of each key of the ring. Source: Security, S11 and S12. */
export function createSealer(keyring: Keyring, purpose: string): Sealer {
  const subKeys = new Map(keyring.ids.map(id => [id, keyring.derive(id, purpose)]))
  const keyOf = (id: string): Buffer => {
    const key = subKeys.get(id)
    if (!key) throw new SealError('unknown_key')
    return key
  }

  return {
    seal(plain, bound) {
      const nonce = randomBytes(nonceBytes)
      const header = Buffer.concat([Buffer.of(format), Buffer.from(keyring.currentId, 'hex'), nonce])
      const cipher = createCipheriv(algorithm, keyOf(keyring.currentId), nonce, { authTagLength: tagBytes })
      cipher.setAAD(associated(purpose, bound))
      const text = typeof plain === 'string' ? cipher.update(plain, 'utf8') : cipher.update(plain)
      const sealed = Buffer.concat([header, text, cipher.final(), cipher.getAuthTag()])
      return { sealed, key_id: keyring.currentId }
    },
    open(sealed, bound) {
      if (sealed[0] !== format || sealed.length < headerBytes + tagBytes) throw new SealError('changed')
      const key = keyOf(sealed.toString('hex', 1, 1 + keyIdBytes))
      const nonce = sealed.subarray(1 + keyIdBytes, headerBytes)
      const decipher = createDecipheriv(algorithm, key, nonce, { authTagLength: tagBytes })
      decipher.setAAD(associated(purpose, bound)).setAuthTag(sealed.subarray(-tagBytes))
      const text = decipher.update(sealed.subarray(headerBytes, -tagBytes))
      try {
        return Buffer.concat([text, decipher.final()])
      } catch (cause) {
        throw new SealError('changed', { cause })
      }
    },
  }
}

// A sealed value: format, key id, nonce, ciphertext, tag.
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

/** Each part behind its length, so that no two lists of parts give the same bytes. */
function associated(purpose: string, bound: readonly string[]): Buffer {
  const parts = [purpose, ...bound].map(part => Buffer.from(part))
  return Buffer.concat([Buffer.of(format), ...parts.flatMap(part => [lengthOf(part), part])])
}

function lengthOf(part: Buffer): Buffer {
  const length = Buffer.alloc(4)
  length.writeUInt32BE(part.length)
  return length
}
