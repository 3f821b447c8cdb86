import type { Target } from '../call.ts'

/** The search that Anthropic runs itself, in its format. */
export const webSearchTool = { type: 'web_search_20250305', name: 'web_search' } as const

/** True for Anthropic's own API: other upstreams of its format do not run searches, nor cache what is not marked. */
export const isAnthropics = ({ deployment, protocol }: Target): boolean =>
  protocol === 'anthropic-messages' && deployment.provider === 'anthropic'
