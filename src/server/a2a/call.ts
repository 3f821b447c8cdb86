import type { FastifyReply, FastifyRequest } from 'fastify'
import type { A2aCall } from './operations.ts'

/** Returns the facts of a request that both bindings need. */
export function callOf(request: FastifyRequest, reply: FastifyReply): A2aCall {
  const disconnected = new AbortController()
  reply.raw.once('close', () => reply.raw.writableFinished || disconnected.abort())
  const { agent } = request.params as { agent: string }
  return { agent, caller: request.caller, version: versionOf(request), signal: disconnected.signal }
}

/** Returns the version in the header `A2A-Version`, or else in the query. */
export function versionOf({ headers, query }: Pick<FastifyRequest, 'headers' | 'query'>): string | undefined {
  const header = headers['a2a-version']
  if (typeof header === 'string') return header
  const { 'A2A-Version': parameter } = (query ?? {}) as { 'A2A-Version'?: unknown }
  return typeof parameter === 'string' ? parameter : undefined
}
