import type { IncomingHttpHeaders } from 'node:http'

/**
 * Returns whose format a request uses on paths that both serve: a header `anthropic-version` or `anthropic-beta` selects
 * Anthropic's.
 */
export const vendorOf = (headers: IncomingHttpHeaders): 'anthropic' | 'openai' =>
  headers['anthropic-version'] === undefined && headers['anthropic-beta'] === undefined ? 'openai' : 'anthropic'
