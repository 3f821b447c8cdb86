import type { FastifyInstance } from 'fastify'
import { apiVersion } from '../../contract/api.ts'
import { opencodeRoutes } from '../../contract/opencode.ts'
import { opencodePlace, opencodeProvider } from '../../contract/opencode-route.ts'
import type { OpencodeSession } from '../../contract/sessions.ts'
import type { Agents } from '../agents/agents.ts'
import type { Gateway } from '../gateway/gateway.ts'
import { bind } from '../http/bind.ts'
import type { Caller } from '../http/caller.ts'
import { fastifyPath } from '../http/paths.ts'
import type { StreamSlots } from '../http/stream-slots.ts'
import type { Keys } from '../keys/keys.ts'
import { notFound } from '../platform/errors.ts'
import type { RuntimeRegistry } from '../runtimes/runtime.ts'
import { messagesOf } from '../sessions/log/conversation.ts'
import type { Sessions } from '../sessions/sessions.ts'
import type { Approvals } from '../sessions/waits/approvals.ts'
import type { CustomToolCalls } from '../sessions/waits/custom-tool-calls.ts'
import { type BusDeps, writeBus } from './bus.ts'
import { agentsOf, folders, project, providerOf, settingsOf } from './catalogue.ts'
import type { BusEvent } from './events.ts'
import { pendingPermissions, verdictOf } from './permissions.ts'
import { workingSessions } from './reads.ts'

export interface OpencodeDeps {
  readonly bus: BusDeps
  readonly sessions: Sessions
  readonly approvals: Pick<Approvals, 'decide' | 'list'>
  readonly customToolCalls: Pick<CustomToolCalls, 'list'>
  readonly agents: Pick<Agents, 'list'>
  readonly runtimes: Pick<RuntimeRegistry, 'list'>
  readonly gateway: Pick<Gateway, 'models'>
  readonly keys: Pick<Keys, 'watch'>
  readonly slots: StreamSlots
  /** Returns the public record of a session. */
  readonly toRecord: (row: Awaited<ReturnType<Sessions['find']>>) => OpencodeSession
  readonly shutdown: AbortSignal
}

const maxAgents = 200

/**
 * Serves the routes of opencode clients outside of `/session`: the stream of all sessions, approvals, and start-up
 * reads.
 */
export function serveOpencode(app: FastifyInstance, deps: OpencodeDeps): void {
  serveStream(app, deps, opencodeRoutes.events, event => event)
  serveStream(app, deps, opencodeRoutes.globalEvents, payload => ({ directory: opencodePlace.directory, payload }))
  servePermissions(app, deps)
  serveConversation(app, deps)
  serveCatalogue(app, deps)
}

function serveStream(
  app: FastifyInstance,
  { bus, sessions, keys, slots, toRecord, shutdown }: OpencodeDeps,
  route: typeof opencodeRoutes.events | typeof opencodeRoutes.globalEvents,
  wrap: (event: BusEvent) => object,
): void {
  app.route({
    method: 'GET',
    url: fastifyPath(route),
    config: { route },
    async handler(request, reply) {
      const { caller } = request
      const release = slots.take(caller)
      const watched = keys.watch(caller)
      const options = {
        owner: caller.ownerScope,
        recordOf: async (id: string) => toRecord(await sessions.find(id, caller)),
        begin: () => void reply.hijack(),
        wrap,
        shutdown: AbortSignal.any([shutdown, watched.signal]),
      }
      await writeBus(reply.raw, request.id, { deps: bus, options }).finally(() => {
        watched.close()
        release()
      })
    },
  })
}

function servePermissions(app: FastifyInstance, { approvals, sessions, bus }: OpencodeDeps): void {
  bind(app, opencodeRoutes.permissions, async (_, caller) => {
    const filter = { sessionId: undefined, state: 'pending' as const }
    const pending = await approvals.list(filter, caller, { after: undefined, limit: 200 })
    return pendingPermissions(pending, id => messagesOf(bus.events, id))
  })
  bind(app, opencodeRoutes.reply, async ({ params, body: { reply, message } }, caller) => {
    await approvals.decide({ id: params.request_id, result: verdictOf(reply), message }, caller)
    return true
  })
  bind(app, opencodeRoutes.answer, async ({ params, body: { response } }, caller) => {
    const { session_id, permission_id: tool_use_id } = params
    const event = { type: 'user.tool_confirmation', tool_use_id, result: verdictOf(response) } as const
    await sessions.send(session_id, [event], caller)
    return true
  })
}

function serveConversation(app: FastifyInstance, { sessions, approvals, customToolCalls, bus }: OpencodeDeps): void {
  bind(app, opencodeRoutes.statuses, async (_, caller) => {
    const ids = await workingSessions({ sessions, approvals, customToolCalls }, caller)
    return Object.fromEntries(ids.map(id => [id, { type: 'busy' as const }]))
  })
  bind(app, opencodeRoutes.message, async ({ params }, caller) => {
    const { id } = await sessions.open(params.session_id, caller)
    const message = (await messagesOf(bus.events, id)).find(({ info }) => info['id'] === params.message_id)
    if (!message) throw notFound('message', params.message_id)
    return message
  })
  const nothing = async (sessionId: string, caller: Caller) => {
    await sessions.open(sessionId, caller)
    return []
  }
  bind(app, opencodeRoutes.todo, ({ params }, caller) => nothing(params.session_id, caller))
  bind(app, opencodeRoutes.diff, ({ params }, caller) => nothing(params.session_id, caller))
}

function serveCatalogue(app: FastifyInstance, { gateway, runtimes, agents }: OpencodeDeps): void {
  const settings = async (_: unknown, { key }: Caller) => settingsOf(gateway.models(key))
  bind(app, opencodeRoutes.health, async () => ({ healthy: true as const, version: apiVersion }))
  bind(app, opencodeRoutes.config, settings)
  bind(app, opencodeRoutes.globalConfig, settings)
  bind(app, opencodeRoutes.configProviders, async (_, { key }) => {
    const { provider, default: first } = providerOf(gateway.models(key))
    return { providers: [provider], default: first }
  })
  bind(app, opencodeRoutes.providers, async (_, { key }) => {
    const { provider, default: first } = providerOf(gateway.models(key))
    return { all: [provider], default: first, connected: [opencodeProvider] }
  })
  bind(app, opencodeRoutes.agents, async (_, caller) =>
    agentsOf(await runtimes.list(), await agents.list(undefined, caller, { after: undefined, limit: maxAgents })),
  )
  serveNothing(app)
  bind(app, opencodeRoutes.path, async () => folders)
  bind(app, opencodeRoutes.projects, async () => [project])
  bind(app, opencodeRoutes.project, async () => project)
}

/** Routes that clients call for features that this server does not have; they return empty results. */
function serveNothing(app: FastifyInstance): void {
  for (const route of [opencodeRoutes.commands, opencodeRoutes.findSymbols]) bind(app, route, async () => [])
  bind(app, opencodeRoutes.vcs, async () => ({ branch: '' }))
  bind(app, opencodeRoutes.mcp, async () => ({}))
  bind(app, opencodeRoutes.log, async () => true)
}
