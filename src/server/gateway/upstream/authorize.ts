import type { Deployment, Protocol } from '../../config/config.ts'
import type { Target } from '../core/call.ts'
import { signAws, type Unsigned } from './aws-signature.ts'
import type { GoogleTokens } from './google-token.ts'
import { isOpenAi } from './paths.ts'
import { addToken } from './scrub.ts'

/** The headers of a request with the deployment's credential among them, in an object of their own. Rejects with AppError when there is none. */
export type Authorize = (
  target: Pick<Target, 'deployment' | 'protocol'>,
  request: Unsigned,
) => Record<string, string> | Promise<Record<string, string>>

/** Providers whose key travels as a Bearer token on Anthropic's routes too. */
const bearerProviders = new Set(['openrouter', 'ollama'])

/** A server of OpenAI's formats takes its key in one way, whatever the format; Anthropic itself has two. */
const isBearer = ({ provider, protocols }: Deployment): boolean =>
  bearerProviders.has(provider) || (provider !== 'anthropic' && protocols.some(isOpenAi))

interface Options {
  /** For deployments with a service account; without it those need a key of their own. */
  readonly googleTokens?: GoogleTokens
}

/** Puts each provider's credential where it wants it. A deployment's own headers win. */
export function createAuthorize({ googleTokens }: Options = {}): Authorize {
  return ({ deployment, protocol }, request) => {
    const { headers } = request
    const { apiKey, aws, headers: own } = deployment
    const isOwn = 'authorization' in own || 'x-api-key' in own || 'api-key' in own
    if (aws && !isOwn) return signAws(aws, { ...request, headers: { ...headers, ...own } }, new Date())
    const account = isOwn ? undefined : deployment.google?.serviceAccount
    if (account && googleTokens) {
      const token = googleTokens(account)
      const withToken = (value: string) => {
        addToken(deployment, value)
        return { ...headers, authorization: `Bearer ${value}`, ...own }
      }
      return typeof token === 'string' ? withToken(token) : token.then(withToken)
    }
    if (apiKey === undefined || isOwn) return { ...headers, ...own }
    return { ...headers, ...keyHeader(deployment, protocol, apiKey), ...own }
  }
}

function keyHeader(deployment: Deployment, protocol: Protocol, apiKey: string): Record<string, string> {
  const { provider } = deployment
  const bearer = { authorization: `Bearer ${apiKey}` }
  switch (protocol) {
    case 'anthropic-messages':
      return isBearer(deployment) ? bearer : { 'x-api-key': apiKey }
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
