import type { McpToolResult } from '../../../contract/mcp.ts'
import type { McpCallOutcome, McpCallVia } from '../../../contract/mcp-calls.ts'
import type { Caller } from '../../http/caller.ts'
import { AppError } from '../../platform/errors.ts'
import { newId } from '../../platform/ids.ts'
import type { Log } from '../../platform/log.ts'
import { createRowQueue } from '../../platform/row-queue.ts'
import type { RegisteredServer } from '../registry/server.ts'
import type { McpCallStore } from './store.ts'

export interface CalledTool {
  readonly server: Pick<RegisteredServer, 'server_id' | 'server_name'>
  readonly tool: string
  readonly by: Pick<Caller, 'key' | 'principal'>
  readonly via: McpCallVia
  readonly requestBytes: number
}

interface CallEnd {
  readonly outcome: McpCallOutcome
  readonly errorCode?: string | undefined
  readonly responseBytes: number
}

interface Deps {
  readonly store: Pick<McpCallStore, 'insert'>
  readonly log: Pick<Log, 'warn'>
}

/** Log of calls of tools. Rows are written in batches, at most a second later; a call never waits for them. */
export type McpCallLog = ReturnType<typeof createMcpCallLog>

export function createMcpCallLog({ store, log }: Deps) {
  const rows = createRowQueue({ name: 'the log of MCP calls', insert: store.insert, log })

  /** Starts the clock of a call; the returned function records its end. */
  function begin({ server, tool, by, via, requestBytes }: CalledTool): (end: CallEnd) => void {
    const created_at = new Date()
    const startMs = performance.now()
    return ({ outcome, errorCode, responseBytes }) => {
      rows.push({
        id: newId('mcall'),
        created_at,
        server_id: server.server_id,
        server_name: server.server_name,
        tool: tool.slice(0, 200).replaceAll('\0', ''),
        via,
        principal: by.principal,
        key_id: by.key?.id ?? null,
        outcome,
        error_code: errorCode ?? null,
        ms: Math.round(performance.now() - startMs),
        request_bytes: requestBytes,
        response_bytes: responseBytes,
      })
    }
  }

  return {
    begin,

    /** Runs a call and records it. */
    async recorded(called: CalledTool, work: () => Promise<McpToolResult>): Promise<McpToolResult> {
      const end = begin(called)
      try {
        const result = await work()
        const outcome = result.isError === true ? 'tool_error' : 'completed'
        end({ outcome, responseBytes: sizeOf(result) })
        return result
      } catch (error) {
        end({ outcome: 'failed', errorCode: error instanceof AppError ? error.code : 'internal', responseBytes: 0 })
        throw error
      }
    },

    /** Writes the rows of all calls that have ended. */
    flush: rows.flush,
    start: rows.start,
    stop: rows.stop,
  }
}

/** Returns the size of a value as JSON, in bytes. */
export const sizeOf = (value: unknown): number => Buffer.byteLength(JSON.stringify(value) ?? '')
