import { rpcCodes } from '../../http/json-rpc-error.ts'
import { isRecord, type Json, recordOf } from '../../platform/json.ts'
import { RpcFailure, type RpcMessage } from '../client/json-rpc.ts'
import { metaKeys, modernVersion } from '../client/modern.ts'

/** Extension for calls that answer with a task. */
export const tasksExtension = 'io.modelcontextprotocol/tasks'

const capabilities = { tools: {}, extensions: { [tasksExtension]: {} } }

/** How long clients may use a list. */
const listTtlMs = 30_000
export const cacheHint = { ttlMs: listTtlMs, cacheScope: 'private' } as const

/** Result of `server/discover`. */
export const discovered = { supportedVersions: [modernVersion], capabilities, ...cacheHint } as const

const capabilitiesOf = ({ params }: RpcMessage): Json =>
  recordOf(recordOf(recordOf(params)['_meta'])[metaKeys.capabilities])

/** True if the client of a modern request supports tasks. */
export const supportsTasks = (message: RpcMessage): boolean =>
  recordOf(capabilitiesOf(message)['extensions'])[tasksExtension] !== undefined

/** True if the client of a modern request shows forms. */
export const elicits = (message: RpcMessage): boolean => canElicit(capabilitiesOf(message))

/** True if a client shows forms. An empty capability means forms. Source: MCP, elicitation, capabilities. */
export function canElicit({ elicitation }: Json): boolean {
  return isRecord(elicitation) && (Object.keys(elicitation).length === 0 || isRecord(elicitation['form']))
}

/** Throws RpcFailure for a client that does not support tasks. */
export function requireTasks(message: RpcMessage): void {
  if (supportsTasks(message)) return
  throw new RpcFailure(rpcCodes.missingCapability, `client capability ${tasksExtension} is required`, {
    requiredCapabilities: { extensions: { [tasksExtension]: {} } },
  })
}
