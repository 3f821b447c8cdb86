import type { WorkspaceBucket } from '../config/agent-settings.ts'
import type { Outbound } from '../platform/outbound.ts'
import { Pool, request } from '../platform/undici.ts'
import { hashOf } from './limits.ts'

/** Objects of a store by key. Calls reject when the store returns an error or is unreachable. */
export interface Objects {
  readonly prefix: string
  put(key: string, bytes: Buffer): Promise<void>
  get(key: string): Promise<Buffer>
  /** Deletes an object. Succeeds when it does not exist. */
  remove(key: string): Promise<void>
  close(): Promise<void>
}

type Method = 'GET' | 'PUT' | 'DELETE'

const connectMs = 5_000
const totalMs = 30_000
const maxResponseBytes = 4 * 1024 * 1024
const maxErrorLength = 300

/** Returns the objects of a bucket, addressed by path, which every store supports. Connects on the first call. */
export function bucketObjects(outbound: Pick<Outbound, 'connect'>, settings: WorkspaceBucket): Objects {
  const { origin, pathname } = new URL(settings.endpoint)
  const root = `${pathname === '/' ? '' : pathname.replace(/\/$/, '')}/${settings.bucket}`
  const pool = new Pool(origin, { connect: outbound.connect(connectMs), connections: 8, keepAliveTimeout: 10_000 })

  async function call(method: Method, key: string, body: Buffer | undefined): Promise<Buffer | undefined> {
    const path = `${root}/${key}`
    const headers = await signed(settings, { method, path, hash: hashOf(body ?? Buffer.alloc(0)) })
    const signal = AbortSignal.timeout(totalMs)
    const response = await request.call(pool, { method, path, headers, body: body ?? null, signal })
    const content = await bounded(response.body)
    if (response.statusCode === 404) return undefined
    if (response.statusCode < 300) return content
    const text = content.toString('utf8', 0, maxErrorLength).replaceAll(/\s+/g, ' ')
    throw new Error(`object store returned status ${response.statusCode} to ${method}: ${text}`)
  }

  return {
    prefix: settings.prefix,
    async put(key, bytes) {
      if (!(await call('PUT', key, bytes)))
        throw new Error(`bucket ${settings.bucket} does not exist in the object store`)
    },
    async get(key) {
      const found = await call('GET', key, undefined)
      if (!found) throw new Error(`object ${key} is missing in the object store`)
      return found
    },
    async remove(key) {
      await call('DELETE', key, undefined)
    },
    close: () => pool.close(),
  }
}

async function bounded(body: AsyncIterable<Buffer>): Promise<Buffer> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of body) {
    bytes += chunk.length
    if (bytes > maxResponseBytes) throw new Error('object store response exceeds 4 MiB')
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

interface Unsigned {
  readonly method: Method
  readonly path: string
  /** SHA-256 of the body. */
  readonly hash: string
}

/** Returns headers signed with AWS Signature Version 4. Keys contain no characters that need escaping. */
async function signed(settings: WorkspaceBucket, { method, path, hash }: Unsigned): Promise<Record<string, string>> {
  // Loaded with the first call, since most installations have no object store.
  const [{ SignatureV4 }, { Sha256 }] = await Promise.all([
    import('@smithy/signature-v4'),
    import('@smithy/core/checksum'),
  ])
  const { region, accessKeyId, secretAccessKey, sessionToken } = settings
  const { host, hostname, protocol } = new URL(settings.endpoint)
  const credentials = { accessKeyId, secretAccessKey, ...(sessionToken !== undefined && { sessionToken }) }
  const signer = new SignatureV4({ service: 's3', region, credentials, sha256: Sha256, uriEscapePath: false })
  const headers = { host, 'x-amz-content-sha256': hash }
  const response = await signer.sign({ method, protocol, hostname, path, headers })
  const { host: _, ...rest } = response.headers
  return rest
}
