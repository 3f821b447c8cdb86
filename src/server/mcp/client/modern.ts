import { apiVersion } from '../../../contract/api.ts'
import { AppError } from '../../platform/errors.ts'
import { isRecord, type Json, listOf, recordOf, textIn } from '../../platform/json.ts'
import type { RegisteredServer } from '../registry/server.ts'
import { failureIn, messagesIn, type RpcFailure, resultOf } from './json-rpc.ts'
import type { RpcCall } from './legacy.ts'
import { mirroredHeaders } from './mirrored-headers.ts'
import { responseIn, textOfAnswer } from './read-answer.ts'
import type { Upstream } from './upstream.ts'

/** The stateless revision. Dialects: section 6.1. */
export const modernVersion = '2026-07-28'

/** Keys of `_meta` in modern requests. */
export const metaKeys = {
  version: 'io.modelcontextprotocol/protocolVersion',
  capabilities: 'io.modelcontextprotocol/clientCapabilities',
  client: 'io.modelcontextprotocol/clientInfo',
  server: 'io.modelcontextprotocol/serverInfo',
  logLevel: 'io.modelcontextprotocol/logLevel',
  subscription: 'io.modelcontextprotocol/subscriptionId',
} as const

/** The server does not answer as a modern one. */
export class NotModern extends Error {
  override readonly name = 'NotModern'
}

interface Deps {
  readonly upstream: Upstream
  readonly nextId: () => number
}

const silenceMs = 60_000
/** Header mismatch, missing capability, unsupported version: only modern servers return these. */
export const modernCodes: ReadonlySet<number> = new Set([-32_020, -32_021, -32_022])
const unsupportedVersion = -32_022

interface ModernCall extends RpcCall {
  /** Schema of the called tool, for parameters that are repeated in headers. */
  readonly inputSchema?: unknown
  /** Fields of `_meta` for the client on whose behalf the request is sent. */
  readonly client?: Json
}

/** Sends one request to a modern server and returns its complete result. */
export async function requestModern(server: RegisteredServer, call: ModernCall, deps: Deps): Promise<Json> {
  const result = await interimModern(server, call, deps)
  if ((result['resultType'] ?? 'complete') === 'complete') return result
  throw new AppError(
    'upstream_unreachable',
    `MCP server ${server.server_name} asks for more input during ${call.method}, which only its own clients can give`,
  )
}

/** Sends one request to a modern server and returns its result of any type, such as `input_required`. */
export async function interimModern(server: RegisteredServer, call: ModernCall, deps: Deps): Promise<Json> {
  const { method, params, signal, onMessage, onBytes } = call
  const id = deps.nextId()
  const _meta = {
    ...recordOf(params['_meta']),
    [metaKeys.version]: modernVersion,
    [metaKeys.capabilities]: {},
    [metaKeys.client]: { name: 'switchyard', version: apiVersion },
    ...call.client,
  }
  const answer = await deps.upstream.exchange(server, {
    method: 'POST',
    headers: {
      accept: 'application/json, text/event-stream',
      'content-type': 'application/json',
      'mcp-protocol-version': modernVersion,
      ...mirroredHeaders(method, params, call.inputSchema),
    },
    body: JSON.stringify({ jsonrpc: '2.0', id, method, params: { ...params, _meta } }),
    signal,
    silenceMs,
    ...(onBytes && { gapMs: 0 }),
  })
  if (answer.status >= 400) {
    const failure = messagesIn(await textOfAnswer(answer, server)).map(failureIn)[0]
    if (failure && modernCodes.has(failure.code)) throw asModern(failure, server)
    if (failure && method !== 'server/discover') throw failure
    throw new NotModern(`MCP server ${server.server_name} answered ${method} with status ${answer.status}`)
  }
  return resultOf(await responseIn(answer, { server, id, onMessage, onBytes }))
}

/**
 * Checks that the server is modern and supports our revision, and returns the result of `server/discover`. Throws
 * `NotModern` for an older server.
 */
export async function discoverModern(
  server: RegisteredServer,
  signal: AbortSignal,
  { client, ...deps }: Deps & Pick<ModernCall, 'client'>,
): Promise<Json> {
  let result: Json
  try {
    result = await requestModern(
      server,
      { method: 'server/discover', params: {}, signal, onMessage: () => undefined, ...(client && { client }) },
      deps,
    )
  } catch (error) {
    // Older servers answer an unknown method with status 200 and an error.
    if (isRpcFailure(error) && !modernCodes.has(error.code)) throw new NotModern(error.message)
    throw error
  }
  const versions = listOf(result['supportedVersions'])
  if (versions.length > 0 && !versions.includes(modernVersion)) throw unsupported(server, versions)
  return result
}

const isRpcFailure = (error: unknown): error is RpcFailure => error instanceof Error && error.name === 'RpcFailure'

function asModern(failure: RpcFailure, server: RegisteredServer): Error {
  if (failure.code !== unsupportedVersion) return failure
  return unsupported(server, isRecord(failure.data) ? listOf(failure.data['supported']) : [])
}

function unsupported({ server_name }: RegisteredServer, versions: readonly unknown[]): AppError {
  const shown = versions.map(textIn).filter(version => version !== undefined)
  return new AppError(
    'upstream_unreachable',
    `MCP server ${server_name} does not support revision ${modernVersion}; it supports ${shown.slice(0, 10).join(', ').slice(0, 200) || 'others'}`,
  )
}
