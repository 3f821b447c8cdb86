import { rpcCodes } from '../../http/json-rpc-error.ts'
import { type Json, recordOf, textOf } from '../../platform/json.ts'
import type { McpClient } from '../client/client.ts'
import { RpcFailure } from '../client/json-rpc.ts'
import { NotLegacy } from '../client/legacy.ts'
import { interimModern, metaKeys, NotModern } from '../client/modern.ts'
import type { Upstream } from '../client/upstream.ts'
import { bridgedCapabilities } from './capabilities.ts'
import type { createForModernClients } from './for-modern-clients.ts'
import type { BridgeRequest } from './request.ts'
import { watchSilence } from './silence.ts'

interface Deps {
  readonly upstream: Upstream
  readonly nextId: () => number
  readonly client: Pick<McpClient, 'eraOf' | 'detect'>
  readonly forModern: Pick<ReturnType<typeof createForModernClients>, 'answerTo'>
}

interface Sending {
  /** Schema of the tool, for parameters that modern servers expect in headers. */
  readonly inputSchema: unknown
  /** Gets progress and log messages, with the token of the client. */
  readonly send: (message: Json) => void
}

/**
 * Calls tools for modern clients of this service's own endpoints: a question of a server of either era is the result
 * `input_required`, and the client repeats its request with the answers.
 */
export type AskingToolCalls = ReturnType<typeof createAskingToolCalls>

export function createAskingToolCalls({ upstream, nextId, client, forModern }: Deps) {
  async function ofModern({ server, message, signal }: BridgeRequest, { inputSchema, send }: Sending): Promise<Json> {
    const params = recordOf(message['params'])
    const capabilities = bridgedCapabilities(recordOf(params['_meta'])[metaKeys.capabilities])
    const silence = watchSilence(server)
    try {
      const call = {
        method: 'tools/call',
        params,
        inputSchema,
        client: { [metaKeys.capabilities]: capabilities },
        signal: AbortSignal.any([signal, silence.signal]),
        onBytes: silence.heard,
        onMessage: send,
      }
      const result = await interimModern(server, call, { upstream, nextId })
      const type = textOf(result['resultType'] ?? 'complete')
      if (type === 'complete' || type === 'input_required') return result
      throw new RpcFailure(
        rpcCodes.internal,
        `MCP server ${server.server_name} returned a result of type ${type.slice(0, 40)}, which is not supported`,
      )
    } finally {
      silence.stop()
    }
  }

  /** Returns the result of `tools/call`, complete or `input_required`. Throws RpcFailure or AppError. */
  return async function call(request: BridgeRequest, sending: Sending, isRetry = false): Promise<Json> {
    const { server, caller, signal } = request
    try {
      return (await client.eraOf(server, caller.principal, signal)) === 'modern'
        ? await ofModern(request, sending)
        : await forModern.answerTo(request, sending)
    } catch (error) {
      if (isRetry || !(error instanceof NotModern || error instanceof NotLegacy)) throw error
      await client.detect(server, caller.principal, signal)
      return call(request, sending, true)
    }
  }
}
