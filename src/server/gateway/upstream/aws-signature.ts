import type { Method } from '../../../contract/route.ts'
import type { AwsAccess } from '../../config/config.ts'
import { joined, type Parts } from '../bytes/body-edit.ts'

/** A request whose credential is still missing. */
export interface Unsigned {
  /** Absolute. */
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: Parts
  /** POST unless given. */
  readonly method?: Method
}

/**
 * The headers of a request to Amazon Bedrock with its Signature Version 4. The path goes out as it stands in the
 * URL, percent-encoded once: the signature is over its second encoding, as AWS wants it.
 */
export async function signAws(
  access: AwsAccess,
  { url, headers, body, method = 'POST' }: Unsigned,
  date: Date,
): Promise<Record<string, string>> {
  const { host, hostname, pathname, protocol, searchParams } = new URL(url)
  // Loaded with the first call: they take time and memory, and most servers never call AWS.
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
  // The connection sets it, to the very same value.
  const { host: _, ...rest } = signed
  return rest
}
