import { createHash, createHmac } from 'node:crypto'
import { createServer, type IncomingMessage } from 'node:http'
import { buffer } from 'node:stream/consumers'
import { onLoopback } from './on-loopback.ts'

interface Credentials {
  readonly accessKeyId: string
  readonly secretAccessKey: string
}

/** A bucket that keeps objects in memory and checks every signature by itself. */
export interface FakeBucket {
  /** Origin of the store. */
  readonly endpoint: string
  readonly objects: Map<string, Buffer>
  /** Answers that are to fail with 503 before the next one succeeds. */
  failures: number
  stop(): Promise<void>
}

const sha256 = (data: string | Buffer): string => createHash('sha256').update(data).digest('hex')
const hmac = (key: string | Buffer, data: string): Buffer => createHmac('sha256', key).update(data).digest()

/** The signature that AWS documents as version 4, made again from what came. */
function isSigned(
  { method, url = '', headers }: IncomingMessage,
  body: Buffer,
  { accessKeyId, secretAccessKey }: Credentials,
): boolean {
  const pattern =
    /^AWS4-HMAC-SHA256 Credential=([^/]+)\/(\d{8})\/([\w-]+)\/s3\/aws4_request, SignedHeaders=([\w;-]+), Signature=(\w{64})$/
  const [, id, day = '', region = '', names = '', signature] = pattern.exec(headers.authorization ?? '') ?? []
  const time = String(headers['x-amz-date'])
  const hash = String(headers['x-amz-content-sha256'])
  if (id !== accessKeyId || !time.startsWith(day) || hash !== sha256(body)) return false
  if (!['host', 'x-amz-content-sha256', 'x-amz-date'].every(name => names.split(';').includes(name))) return false
  const lines = names.split(';').map(name => `${name}:${String(headers[name]).trim()}\n`)
  const [path = '', query = ''] = url.split('?')
  const canonical = [method, path, query, lines.join(''), names, hash].join('\n')
  const scope = `${day}/${region}/s3/aws4_request`
  const key = hmac(hmac(hmac(hmac(`AWS4${secretAccessKey}`, day), region), 's3'), 'aws4_request')
  return hmac(key, ['AWS4-HMAC-SHA256', time, scope, sha256(canonical)].join('\n')).toString('hex') === signature
}

type Reply = readonly [status: number, body?: Buffer | undefined]

/** Starts a store with one bucket. */
export async function startFakeBucket(bucket: string, credentials: Credentials): Promise<FakeBucket> {
  const objects = new Map<string, Buffer>()
  const fake = { failures: 0 }
  const prefix = `/${bucket}/`
  const byMethod: Readonly<Record<string, (key: string, body: Buffer) => Reply>> = {
    GET: key => (objects.has(key) ? [200, objects.get(key)] : [404]),
    PUT(key, body) {
      objects.set(key, body)
      return [200]
    },
    DELETE(key) {
      objects.delete(key)
      return [204]
    },
  }
  const statusOf = (request: IncomingMessage, body: Buffer): Reply => {
    const { method = '', url = '' } = request
    if (!isSigned(request, body, credentials)) return [403, Buffer.from('<Code>SignatureDoesNotMatch</Code>')]
    if (fake.failures > 0) {
      fake.failures--
      return [503, Buffer.from('<Code>SlowDown</Code>')]
    }
    if (!url.startsWith(prefix)) return [404]
    return byMethod[method]?.(decodeURIComponent(url.slice(prefix.length)), body) ?? [405]
  }
  const server = createServer(async (request, response) => {
    const [status, answer] = statusOf(request, await buffer(request))
    response.writeHead(status).end(answer)
  })
  const { url: endpoint, close } = await onLoopback(server)
  return Object.assign(fake, {
    endpoint,
    objects,
    stop: close,
  })
}
