import type { Protocol } from '../../config/config.ts'
import type { Target } from '../call.ts'

/** True for OpenAI's formats, whose paths stand right behind a base address that ends in `/v1`. */
export const isOpenAi = (protocol: Protocol): boolean => protocol === 'openai-chat' || protocol === 'openai-responses'

/**
 * What stands between a deployment's base address and the paths of a protocol. The base address is that of Messages where
 * the deployment serves it, and Google's own for Gemini.
 */
export function basePathOf({ deployment, protocol }: Pick<Target, 'deployment' | 'protocol'>): string {
  const { provider, protocols, apiBase } = deployment
  if (!isOpenAi(protocol)) return ''
  if (provider === 'gemini')
    return apiBase.endsWith('/openai') ? '' : `${/\/v\d[a-z\d]*$/.test(apiBase) ? '' : '/v1beta'}/openai`
  return protocols.includes('anthropic-messages') ? '/v1' : ''
}
