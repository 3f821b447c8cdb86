import { apiVersion } from '../../../contract/api.ts'
import { AppError } from '../../platform/errors.ts'
import { isRecord, type Json, listOf, recordOf, textOf } from '../../platform/json.ts'
import { failureIn, resultOf } from '../client/json-rpc.ts'
import { legacyVersions } from '../client/legacy.ts'
import { metaKeys, modernVersion } from '../client/modern.ts'
import type { Era } from '../registry/state-store.ts'
import type { StdioConnection } from './connection.ts'

export interface Greeting {
  readonly era: Era
  /** Result of `initialize` for clients of the legacy era; empty for a modern server. */
  readonly initialized: Json
}

const discoverMs = 5_000
const initializeMs = 30_000
const clientInfo = { name: 'switchyard', version: apiVersion }

/** Detects the era of a program and initializes it. Dialects: section 6.1, rule 9. */
export async function greet(connection: StdioConnection, name: string): Promise<Greeting> {
  if (await isModern(connection)) return { era: 'modern', initialized: {} }
  const params = { protocolVersion: legacyVersions[0], capabilities: {}, clientInfo }
  const result = resultOf(await ask(connection, { method: 'initialize', params, timeoutMs: initializeMs }))
  const version = textOf(result['protocolVersion'])
  if (!legacyVersions.includes(version))
    throw new AppError(
      'upstream_unreachable',
      `MCP server ${name} speaks ${version.slice(0, 40) || 'no revision'}, which is not supported`,
    )
  connection.notify('notifications/initialized', {})
  return { era: 'legacy', initialized: { ...result, capabilities: sharedOf(recordOf(result['capabilities'])) } }
}

async function isModern(connection: StdioConnection): Promise<boolean> {
  const _meta = {
    [metaKeys.version]: modernVersion,
    [metaKeys.capabilities]: {},
    [metaKeys.client]: clientInfo,
  }
  const call = { method: 'server/discover', params: { _meta }, timeoutMs: discoverMs }
  const answer = await ask(connection, call).catch((error: unknown) => {
    // Older programs may ignore a method that they do not know. A program that has ended cannot be initialized.
    if (error instanceof AppError) throw error
    return undefined
  })
  if (!answer || failureIn(answer)) return false
  return listOf(resultOf(answer)['supportedVersions']).includes(modernVersion)
}

const ask = (
  connection: StdioConnection,
  { method, params, timeoutMs }: { readonly method: string; readonly params: Json; readonly timeoutMs: number },
) =>
  connection.request({ id: 0, method, params }, { signal: AbortSignal.timeout(timeoutMs), onMessage: () => undefined })

/** Methods that change what the program does for its other clients, or show their work. */
const unshared = /^(logging\/setLevel|resources\/(un)?subscribe|subscriptions\/listen|tasks\/.*)$/

/** True for a method that a program with several clients cannot serve. */
export const isUnshared = (method: string): boolean => unshared.test(method)

/** Returns the capabilities without those that need a connection for each client. */
export function sharedOf({ logging: _logging, tasks: _tasks, ...capabilities }: Json): Json {
  return Object.fromEntries(
    Object.entries(capabilities).map(([name, value]) => {
      if (!isRecord(value)) return [name, value]
      const { subscribe: _subscribe, listChanged: _listChanged, ...rest } = value
      return [name, rest]
    }),
  )
}
