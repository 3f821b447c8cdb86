import type { Method } from '../../../contract/route.ts'
import type { AwsAccess } from '../../config/deployments.ts'
import { joined, type Parts } from '../bytes/body-edit.ts'

/** Request without its credential. */
export interface Unsigned {
  /** Absolute. */
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: Parts
  /** POST by default. */
  readonly method?: Method
}

/**
 * Returns the headers of a request to Amazon Bedrock with Signature Version 4. The path is sent as in the URL,
 * percent-encoded once; AWS requires the signature over its second encoding.
 */
export async function signAws(
  access: AwsAccess,
  { url, headers, body, method = 'POST' }: Unsigned,
  date: Date,
): Promise<Record<string, string>> {
  const { host, hostname, pathname, protocol, searchParams } = new URL(url)
  // Loaded by the first call, because most servers never call AWS and the modules cost time and memory.
  const [{ SignatureV4 }, { Sha256 }] = await Promise.all([
    import('@smithy/signature-v4'),
    import('@smithy/core/checksum'),
  ])
  const { region, accessKeyId, secretAccessKey, sessionToken } = access
  const signer = new SignatureV4({
    service: 'bedrock',
    region,
    credentials: { accessKeyId, secretAccessKey, ...(sessionToken !== undefined && { sessionToken }) },
    sha256: Sha256,
    applyChecksum: false,
  })
  const query = Object.fromEntries([...searchParams.keys()].map(name => [name, searchParams.getAll(name)]))
  const request = {
    method,
    protocol,
    hostname,
    path: pathname,
    query,
    headers: { ...headers, host },
    body: joined(body),
  }
  const { headers: signed } = await signer.sign(request, { signingDate: date })
  // The connection sets the same host header.
  const { host: _, ...rest } = signed
  return rest
}
