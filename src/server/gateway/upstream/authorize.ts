import type { Deployment } from '../../config/deployments.ts'
import { isOpenAiFormat, type Protocol, protocols } from '../../config/protocols.ts'
import type { Target } from '../core/call.ts'
import { signAws, type Unsigned } from './aws-signature.ts'
import type { GoogleTokens } from './google-token.ts'
import { addToken } from './scrub.ts'

/**
 * Returns a new object with the headers of a request and the deployment's credential. Rejects with AppError when the
 * credential cannot be fetched.
 */
export type Authorize = (
  target: Pick<Target, 'deployment' | 'protocol'>,
  request: Unsigned,
) => Record<string, string> | Promise<Record<string, string>>

/** Providers that take their key as a Bearer token on Anthropic's routes too. */
const bearerProviders: ReadonlySet<string> = new Set(['openrouter', 'ollama'])

/** Servers with OpenAI's formats take a Bearer token on all routes; Anthropic's own API takes `x-api-key`. */
const isBearer = (deployment: Deployment): boolean =>
  bearerProviders.has(deployment.provider) ||
  (deployment.provider !== 'anthropic' && deployment.protocols.some(isOpenAiFormat))

interface Options {
  /** For deployments with a service account; without it they need a key. */
  readonly googleTokens?: GoogleTokens
}

/** Adds the credential in the header that the provider expects. A deployment's own headers take precedence. */
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
  const { format, keyHeader: usual } = protocols[protocol]
  const { provider } = deployment
  if (format === 'openai' && provider === 'azure') return { 'api-key': apiKey }
  const takesBearer = format === 'anthropic' ? isBearer(deployment) : provider === 'vertex'
  return usual === 'authorization' || takesBearer ? { authorization: `Bearer ${apiKey}` } : { [usual]: apiKey }
}
