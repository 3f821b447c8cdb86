import type { IncomingMessage } from 'node:http'
import { brotliDecompress, gunzip, inflate, zstdDecompress } from 'node:zlib'
import { AppError } from '../platform/errors.ts'
import { receiveBody } from './receive-body.ts'

type Decode = (
  body: Buffer,
  options: { readonly maxOutputLength: number },
  done: (error: Error | null, decoded: Buffer) => void,
) => void

/** Decoders by content encoding. Codex compresses its requests with zstd. */
const decoders: Readonly<Record<string, Decode>> = {
  gzip: gunzip,
  'x-gzip': gunzip,
  deflate: inflate,
  br: brotliDecompress,
  zstd: zstdDecompress,
}

/** Reads a body of up to `limit` bytes as `receiveBody` does, and decompresses it to at most `limit` bytes. */
export function receiveDecodedBody(
  request: IncomingMessage,
  limit: number,
  done: (error: Error | undefined, body: Buffer) => void,
): void {
  const encoding = request.headers['content-encoding']?.trim().toLowerCase()
  if (encoding === undefined || encoding === '' || encoding === 'identity') {
    receiveBody(request, limit, done)
    return
  }
  const decode = Object.hasOwn(decoders, encoding) ? decoders[encoding] : undefined
  if (!decode) {
    done(
      new AppError('unsupported_media_type', `content-encoding must be ${Object.keys(decoders).join(', ')}`),
      nothing,
    )
    return
  }
  receiveBody(request, limit, (error, body) => {
    if (error) done(error, nothing)
    else
      decode(body, { maxOutputLength: limit }, (cause, decoded) => done(problemOf(cause, encoding), decoded ?? nothing))
  })
}

/** Reads a body as `receiveDecodedBody` does. Rejects with `payload_too_large`, `unsupported_media_type` or `invalid_request`. */
export const receivedDecodedBody = (request: IncomingMessage, limit: number): Promise<Buffer> =>
  new Promise((resolve, reject) => {
    receiveDecodedBody(request, limit, (error, body) => (error ? reject(error) : resolve(body)))
  })

const nothing = Buffer.alloc(0)

function problemOf(cause: NodeJS.ErrnoException | null, encoding: string): AppError | undefined {
  if (!cause) return undefined
  return cause.code === 'ERR_BUFFER_TOO_LARGE'
    ? new AppError('payload_too_large', 'decompressed request body is larger than this operation allows', { cause })
    : new AppError('invalid_request', `request body cannot be decompressed: it is not valid ${encoding}`, { cause })
}
