import type { SessionMemories } from '../../memories/session-memories.ts'
import type { Log } from '../../platform/log.ts'
import type { Outbound } from '../../platform/outbound.ts'
import type { pause } from '../../platform/timers.ts'
import { createProgramMcp } from '../local/program-mcp.ts'
import { type Connection, closing, createConnection } from '../remote/connection.ts'
import {
  type Capabilities,
  isFailureWithStatus,
  noCapabilities,
  type Runtime,
  type RuntimeEndpoint,
  RuntimeFailure,
  type RuntimeKind,
} from '../runtime.ts'
import { type OpencodeApi, opencodeApi, opencodeDialect } from './api.ts'
import { checkProgram, type LocalDeps, localServers } from './local.ts'
import { runPrompt } from './run.ts'

export interface OpencodeDeps {
  readonly outbound: Pick<Outbound, 'connect'>
  /** Memories of the session's agent. */
  readonly memories: Pick<SessionMemories, 'block'>
  readonly log: Log
  /** Waits between polls and retries; `pause` of the platform by default. */
  readonly wait?: typeof pause
  /** For servers that we start; absent when this server starts none. */
  readonly local?: LocalDeps
}

const capabilities: Capabilities = {
  ...noCapabilities,
  streaming: true,
  files_in: true,
  interrupt: true,
  approvals: true,
  resume: true,
  cost: true,
  model_per_prompt: true,
  compaction: false,
}

/** Runs agents on opencode servers. Dialects: section 2. */
export function opencodeKind(deps: OpencodeDeps): RuntimeKind {
  /** Calls a server over a connection that is closed afterwards. */
  const callOnce = <T>(endpoint: RuntimeEndpoint, call: (api: OpencodeApi) => Promise<T>): Promise<T> =>
    closing(connect(deps, endpoint), connection => call(opencodeApi(connection)))

  return {
    spec: 'opencode',
    capabilities,
    connect: endpoint => {
      if (!endpoint.command) return remoteServer(deps, endpoint)
      return localServers({ ...deps, ...localOf(deps) }, endpoint, capabilities)
    },
    check: (endpoint, signal) =>
      endpoint.command
        ? checkProgram(localOf(deps), endpoint, signal)
        : callOnce(endpoint, api => api.checkHealth(signal)),
    // A server that we start uses the models of the gateway, which lists them itself.
    models: async (endpoint, signal) => (endpoint.command ? [] : callOnce(endpoint, api => api.models(signal))),
  }
}

function localOf({ local }: OpencodeDeps): LocalDeps {
  if (!local) throw new RuntimeFailure('model_request_failed_error', 'this server is not configured to start programs')
  return local
}

const connect = ({ outbound }: OpencodeDeps, endpoint: RuntimeEndpoint): Connection =>
  createConnection(outbound, endpoint, opencodeDialect)

/** Runs agents on a server that is operated elsewhere. */
function remoteServer(deps: OpencodeDeps, endpoint: RuntimeEndpoint): Runtime {
  return {
    id: endpoint.id,
    capabilities,
    namesProviders: true,
    hasOwnModels: true,
    async *run(session, prompt, context) {
      const connection = connect(deps, endpoint)
      try {
        yield* runPrompt(
          { ...deps, api: opencodeApi(connection), endpoint, provider: undefined, mcp: createProgramMcp([]) },
          session,
          prompt,
          context,
        )
      } finally {
        await connection.close()
      }
    },
    async dispose({ refs }) {
      const sessionId = refs.provider_session_id
      if (sessionId === null) return
      const removed = closing(connect(deps, endpoint), connection =>
        opencodeApi(connection).removeSession(sessionId, AbortSignal.timeout(10_000)),
      )
      await removed.catch((error: unknown) => {
        if (!isFailureWithStatus(error, 404)) throw error
      })
    },
  }
}
