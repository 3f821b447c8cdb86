import type { Caller } from '../../http/caller.ts'
import { AppError } from '../../platform/errors.ts'
import type { McpClient } from '../client/client.ts'
import { CredentialRejected } from '../client/upstream.ts'
import { checkUrlServer, serverOfUrl, type UrlCredential, withCredential } from '../registry/url-server.ts'

interface Probe {
  readonly url: string
  readonly credential: UrlCredential
  readonly caller: Pick<Caller, 'principal' | 'key'>
}

/** What a server answered to a credential. */
export type ProbeResult =
  | { readonly kind: 'accepted' }
  | { readonly kind: 'rejected'; readonly status: number; readonly contentType: string }
  | { readonly kind: 'unreachable' }

/** Asks an MCP server with a credential. Errors: `not_found` when the key of the caller may not use the server. */
export type ProbeCredential = ReturnType<typeof createCredentialProbe>

const probeMs = 20_000

export const createCredentialProbe =
  (client: Pick<McpClient, 'listTools'>) =>
  async ({ url, credential, caller }: Probe): Promise<ProbeResult> => {
    const server = serverOfUrl({ name: new URL(url).host, url })
    checkUrlServer(server, caller.key)
    try {
      await client.listTools(withCredential(server, credential), caller.principal, AbortSignal.timeout(probeMs))
      return { kind: 'accepted' }
    } catch (error) {
      if (error instanceof CredentialRejected) {
        const { status, contentType } = error
        return { kind: 'rejected', status, contentType }
      }
      const isExpected = error instanceof AppError || (error instanceof Error && error.name === 'TimeoutError')
      if (isExpected) return { kind: 'unreachable' }
      throw error
    }
  }
