import type { WorkspaceBucket } from '../config/config.ts'
import type { Outbound } from '../platform/outbound.ts'
import { Pool, request } from '../platform/undici.ts'
import { hashOf } from './limits.ts'

/** Objects by their keys. Calls reject when the store refuses or cannot be reached. */
export interface Objects {
  readonly prefix: string
  put(key: string, bytes: Buffer): Promise<void>
  get(key: string): Promise<Buffer>
  /** One that is not there is deleted as well. */
  remove(key: string): Promise<void>
  close(): Promise<void>
}

type Method = 'GET' | 'PUT' | 'DELETE'

const connectMs = 5_000
const totalMs = 30_000
const largestAnswer = 4 * 1024 * 1024
const longestRefusal = 300

/** Objects of a bucket, which is named in the path: every store takes that. Nothing is opened before the first call. */
export function bucketObjects(outbound: Pick<Outbound, 'connect'>, settings: WorkspaceBucket): Objects {
  const { origin, pathname } = new URL(settings.endpoint)
  const root = `${pathname === '/' ? '' : pathname.replace(/\/$/, '')}/${settings.bucket}`
  const pool = new Pool(origin, { connect: outbound.connect(connectMs), connections: 8, keepAliveTimeout: 10_000 })

  async function call(method: Method, key: string, body: Buffer | undefined): Promise<Buffer | undefined> {
    const path = `${root}/${key}`
    const headers = await signed(settings, { method, path, hash: hashOf(body ?? Buffer.alloc(0)) })
    const signal = AbortSignal.timeout(totalMs)
    const answer = await request.call(pool, { method, path, headers, body: body ?? null, signal })
    const content = await bounded(answer.body)
    if (answer.statusCode === 404) return undefined
    if (answer.statusCode < 300) return content
    const said = content.toString('utf8', 0, longestRefusal).replaceAll(/\s+/g, ' ')
    throw new Error(`the object store answered ${method} with status ${answer.statusCode}: ${said}`)
  }

  return {
    prefix: settings.prefix,
    async put(key, bytes) {
      if (!(await call('PUT', key, bytes))) throw new Error(`the object store has no bucket ${settings.bucket}`)
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
    if (bytes > largestAnswer) throw new Error('the answer of the object store is too large')
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

interface Unsigned {
  readonly method: Method
  readonly path: string
  /** Of the body. */
  readonly hash: string
}

/** Headers with the store's Signature Version 4. No key needs an escape. */
async function signed(settings: WorkspaceBucket, { method, path, hash }: Unsigned): Promise<Record<string, string>> {
  // Loaded with the first call: most services have no object store.
  const [{ SignatureV4 }, { Sha256 }] = await Promise.all([
    import('@smithy/signature-v4'),
    import('@smithy/core/checksum'),
  ])
  const { region, accessKeyId, secretAccessKey, sessionToken } = settings
  const { host, hostname, protocol } = new URL(settings.endpoint)
  const credentials = { accessKeyId, secretAccessKey, ...(sessionToken !== undefined && { sessionToken }) }
  const signer = new SignatureV4({ service: 's3', region, credentials, sha256: Sha256, uriEscapePath: false })
  const headers = { host, 'x-amz-content-sha256': hash }
  const answer = await signer.sign({ method, protocol, hostname, path, headers })
  const { host: _, ...rest } = answer.headers
  return rest
}
