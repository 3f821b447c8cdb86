import { Transform, type TransformCallback } from 'node:stream'

/** Returns what replaces secrets in a response by as many asterisks, so that no length changes. */
export function secretFilter(secrets: readonly string[]) {
  // A longer one may contain another.
  const ordered = secrets.toSorted((a, b) => b.length - a.length)
  const masked = (text: string) => ordered.reduce((rest, secret) => rest.replaceAll(secret, starsFor(secret)), text)
  return {
    text: masked,
    /** Returns the streams through which a body must pass; none without secrets. */
    streams: (): Transform[] => (ordered.length === 0 ? [] : [new SecretFilter(ordered)]),
  }
}

const starsFor = ({ length }: { readonly length: number }): string => '*'.repeat(length)

/** Replaces secrets in a stream. An end of the data that may be the start of a secret waits for the next chunk. */
class SecretFilter extends Transform {
  readonly #secrets: readonly Buffer[]
  #rest: Buffer = Buffer.alloc(0)

  constructor(secrets: readonly string[]) {
    super()
    this.#secrets = secrets.map(secret => Buffer.from(secret))
  }

  override _transform(chunk: Buffer, _encoding: BufferEncoding, done: TransformCallback): void {
    const data = Buffer.concat([this.#rest, chunk])
    for (const secret of this.#secrets)
      for (let at = data.indexOf(secret); at >= 0; at = data.indexOf(secret, at + secret.length))
        data.fill('*', at, at + secret.length)
    const end = this.#secrets.reduce((first, secret) => Math.min(first, startOf(secret, data)), data.length)
    this.#rest = data.subarray(end)
    done(null, data.subarray(0, end))
  }

  override _flush(done: TransformCallback): void {
    done(null, this.#rest)
  }
}

/** Returns where the data ends with a start of the secret; the length of the data if it does not. */
function startOf(secret: Buffer, data: Buffer): number {
  const first = secret[0] ?? 0
  for (let at = data.indexOf(first, Math.max(0, data.length - secret.length + 1)); at >= 0; ) {
    if (secret.subarray(0, data.length - at).equals(data.subarray(at))) return at
    at = data.indexOf(first, at + 1)
  }
  return data.length
}
