import { createHash } from 'node:crypto'
import type { Deployment } from '../../config/deployments.ts'
import { isOpenAiFormat } from '../../config/protocols.ts'
import type { Target } from '../core/call.ts'
import { ownHeaders } from '../upstream/headers.ts'
import { basePathOf } from '../upstream/paths.ts'

type Upstream = Pick<Target, 'deployment' | 'protocol'>

/** Beta of Anthropic's Files API, which its requests and those that refer to its files must name. */
export const filesBeta = 'files-api-2025-04-14'

export const isAnthropics = ({ protocol }: Pick<Upstream, 'protocol'>): boolean => protocol === 'anthropic-messages'

/** True for the providers' own APIs, which store files. Compatible servers of others mostly do not. */
export const storesFiles = ({ deployment: { provider }, protocol }: Upstream): boolean =>
  (provider === 'anthropic' && protocol === 'anthropic-messages') || (provider === 'openai' && isOpenAiFormat(protocol))

/** Returns the upstream of a deployment's Files API; undefined where there is none. */
export function filesUpstreamOf(deployment: Deployment): Upstream | undefined {
  return deployment.protocols.map(protocol => ({ deployment, protocol })).find(storesFiles)
}

/** Identifies whose files a request may refer to, without revealing the credential. */
export const credentialOf = ({ apiBase, apiKey, headers }: Deployment): string =>
  createHash('sha256')
    .update(JSON.stringify([apiBase, apiKey, headers]))
    .digest('hex')
    .slice(0, 32)

/** Returns the address of a provider's files. */
export const filesUrlOf = (upstream: Upstream): string =>
  `${upstream.deployment.apiBase}${isAnthropics(upstream) ? '/v1' : basePathOf(upstream)}/files`

/** Headers of requests to a Files API, without the credential. */
export const filesHeadersOf = (upstream: Upstream): Record<string, string> => ({
  ...ownHeaders,
  ...(isAnthropics(upstream) && { 'anthropic-version': '2023-06-01', 'anthropic-beta': filesBeta }),
})
