import type { Deployment } from '../../config/config.ts'

/** A request whose credential is still missing. */
export interface Unauthorized {
  /** Absolute. */
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: Buffer
}

/** The headers of a request with the deployment's credential among them. Rejects with AppError when there is none. */
export type Authorize = (
  deployment: Deployment,
  request: Unauthorized,
) => Readonly<Record<string, string>> | Promise<Readonly<Record<string, string>>>

/** Providers whose key travels as a Bearer token on Anthropic's routes. */
const bearerProviders = new Set(['openrouter', 'ollama'])

/** Puts each provider's credential where it wants it. A deployment's own headers win. */
export function createAuthorize(): Authorize {
  return (deployment, { headers }) => {
    const { apiKey, headers: own } = deployment
    const isOwn = 'authorization' in own || 'x-api-key' in own || 'api-key' in own
    if (apiKey === undefined || isOwn) return { ...headers, ...own }
    return { ...headers, ...keyHeader(deployment, apiKey), ...own }
  }
}

function keyHeader({ provider, protocol }: Deployment, apiKey: string): Record<string, string> {
  const bearer = { authorization: `Bearer ${apiKey}` }
  switch (protocol) {
    case 'anthropic-messages':
      return bearerProviders.has(provider) ? bearer : { 'x-api-key': apiKey }
    case 'gemini':
      return provider === 'vertex' ? bearer : { 'x-goog-api-key': apiKey }
    case 'openai-chat':
    case 'openai-responses':
      return provider === 'azure' ? { 'api-key': apiKey } : bearer
    case 'bedrock-converse':
    case 'bedrock-invoke':
    case 'vertex-anthropic':
      return bearer
    case 'demo':
      return {}
  }
}
