import type { Command } from 'commander'
import type { ShownEndpoint } from '../../contract/webhook-endpoints.ts'
import { webhookEndpointRoutes } from '../../contract/webhook-endpoints.ts'
import { exitCodes } from '../exit-codes.ts'
import { endpointDeliveryFinder, endpointFinder } from '../finders.ts'
import { elapsedText } from '../format.ts'
import { dim } from '../out.ts'
import { plainLine } from '../plain-text.ts'
import type { Registry } from '../world.ts'
import { addGroup } from './group.ts'
import { addRouteCommand, type Context, type FieldArgument } from './route-command.ts'
import type { FieldOption } from './schema-option.ts'
import { ago, details, done, rows } from './show.ts'

const which: FieldArgument = {
  field: 'endpoint_id',
  name: 'endpoint',
  text: 'id or address of the endpoint',
  finder: endpointFinder,
}
const settings: readonly FieldOption[] = [
  { field: 'events', flag: 'event', text: 'only these events, such as session.status_idle or session.*' },
  { field: 'agent_ids', flag: 'agent', value: 'id', text: 'only sessions of the agents with these ids' },
  { field: 'description', text: 'description of the endpoint' },
]

/** Prints the secret to standard output, everything else to standard error. */
function shown({ id, secret }: ShownEndpoint, { out }: Pick<Context, 'out'>): undefined {
  out.line(secret)
  out.note(dim(`Endpoint ${id}. Store the secret now: it is not shown again.`))
}

/** Adds `webhooks endpoints`. */
export function addEndpointCommands(webhooks: Command, registry: Registry): void {
  const group = addGroup(webhooks, 'endpoints', 'addresses that receive the events of sessions', [
    'switchyard webhooks endpoints ls',
    'switchyard webhooks endpoints create https://example.com/events --event session.status_idle',
  ])
  addRouteCommand(group, registry, {
    name: 'ls',
    route: webhookEndpointRoutes.list,
    text: 'list endpoints, newest first',
    show: rows(
      ({ endpoints }) => endpoints,
      [
        ['ID', ({ id }) => id],
        ['STATUS', ({ status, failing_since }) => (failing_since === null ? status : 'failing')],
        ['EVENTS', ({ events }) => events.join(', ') || 'all'],
        ['URL', ({ url }) => url],
      ],
      { empty: 'No endpoints. Create one: switchyard webhooks endpoints create <url>' },
    ),
    examples: ['switchyard webhooks endpoints ls --json'],
  })
  addRouteCommand(group, registry, {
    name: 'show',
    route: webhookEndpointRoutes.get,
    text: 'show an endpoint',
    args: [which],
    show: details(),
    examples: ['switchyard webhooks endpoints show whe_0199'],
  })
  addRouteCommand(group, registry, {
    name: 'create',
    route: webhookEndpointRoutes.create,
    text: 'create an endpoint and print its signing secret once',
    args: [{ field: 'url', text: 'address with https' }],
    fields: [
      ...settings,
      { field: 'owner_id', flag: 'owner', text: 'owner of the sessions; default: that of the key' },
    ],
    show: shown,
    examples: ['switchyard webhooks endpoints create https://example.com/events --event session.status_idle'],
  })
  addRouteCommand(group, registry, {
    name: 'edit',
    route: webhookEndpointRoutes.update,
    text: 'change an endpoint; what is not given stays unchanged',
    args: [which],
    fields: [{ field: 'url', text: 'new address with https' }, ...settings],
    show: done(({ id }) => `changed ${id}`),
    examples: ['switchyard webhooks endpoints edit whe_0199 --event "session.*"'],
  })
  for (const [name, status] of [
    ['pause', 'paused'],
    ['resume', 'active'],
  ] as const) {
    addRouteCommand(group, registry, {
      name,
      route: webhookEndpointRoutes.update,
      text: `${name} an endpoint; events of a pause are sent afterwards`,
      args: [which],
      constants: { status },
      show: done(endpoint => `${endpoint.id} is ${endpoint.status}`),
      examples: [`switchyard webhooks endpoints ${name} whe_0199`],
    })
  }
  addRouteCommand(group, registry, {
    name: 'rotate',
    route: webhookEndpointRoutes.rotate,
    text: 'create a new signing secret and print it once; the old one also signs for --grace',
    args: [which],
    fields: [{ field: 'grace', value: 'time' }],
    show: shown,
    examples: ['switchyard webhooks endpoints rotate whe_0199 --grace 24h'],
  })
  addDeliveries(group, registry)
  addRouteCommand(group, registry, {
    name: 'rm',
    route: webhookEndpointRoutes.remove,
    text: 'delete an endpoint with its deliveries',
    args: [which],
    destroys: ([id]) => `delete webhook endpoint ${id} with its deliveries`,
    show: done((_, [id]) => `deleted ${id}`),
    examples: ['switchyard webhooks endpoints rm whe_0199 --yes'],
  })
}

function addDeliveries(group: Command, registry: Registry): void {
  addRouteCommand(group, registry, {
    name: 'test',
    route: webhookEndpointRoutes.test,
    text: 'send a test event now; exit code 1 when it is not accepted',
    args: [which],
    show: ({ ok, http_status, error, duration_ms }, { out }) => {
      const result = `${http_status === null ? '' : `status ${http_status} `}(${elapsedText(duration_ms)})`
      if (ok) out.line({ text: '✓ ', tone: 'good' }, `accepted: ${result}`)
      else out.line({ text: '✗ ', tone: 'bad' }, plainLine(`${error ?? 'not accepted'} ${result}`, 300))
      return ok ? undefined : exitCodes.failed
    },
    examples: ['switchyard webhooks endpoints test whe_0199'],
  })
  addRouteCommand(group, registry, {
    name: 'deliveries',
    route: webhookEndpointRoutes.deliveries,
    text: 'list the deliveries of an endpoint, newest first',
    args: [which],
    fields: [
      { field: 'state', text: 'only deliveries in this state' },
      { field: 'session_id', flag: 'session', text: 'only events of this session' },
    ],
    show: rows(
      ({ deliveries }) => deliveries,
      [
        ['ID', ({ id }) => id],
        ['STATE', ({ state }) => state],
        ['STATUS', ({ http_status }) => String(http_status ?? '-')],
        ['TRIES', ({ attempts }) => String(attempts)],
        ['CREATED', ({ created_at }, now) => ago(created_at, now)],
        ['EVENT', ({ event_type, error }) => (error === null ? event_type : `${event_type}: ${error}`)],
      ],
      { empty: 'No deliveries.' },
    ),
    examples: ['switchyard webhooks endpoints deliveries whe_0199 --state dead'],
  })
  addRouteCommand(group, registry, {
    name: 'replay',
    route: webhookEndpointRoutes.replay,
    text: 'send a delivered or failed event again',
    args: [
      which,
      { field: 'delivery_id', name: 'delivery', text: 'id of the delivery', finder: endpointDeliveryFinder },
    ],
    show: done(({ id, state }) => `sent ${id} again: ${state}`),
    examples: ['switchyard webhooks endpoints replay whe_0199 whd_0199'],
  })
}
