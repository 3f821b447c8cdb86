import type { Command } from 'commander'
import type { Client } from '../../client/client.ts'
import { agentRoutes } from '../../contract/agents.ts'
import { WebhookConfig, WebhookSignature, webhookRoutes } from '../../contract/webhooks.ts'
import { exitCodes } from '../exit-codes.ts'
import { CommandFailed } from '../failures.ts'
import { agentFinder, deliveryFinder, sessionFinder, vaultFinder } from '../finders.ts'
import { plainText } from '../plain-text.ts'
import type { Registry } from '../world.ts'
import { addEndpointCommands } from './endpoints.ts'
import { addGroup } from './group.ts'
import { addRouteCommand, type FieldArgument } from './route-command.ts'
import { attributeOf, type FieldOption, optionsOfField, schemaOfField } from './schema-option.ts'
import { ago, details, done, printFields, rows } from './show.ts'

const agent: FieldArgument = { field: 'agent_id', name: 'agent', text: 'id or name of the agent', finder: agentFinder }
const delivery: FieldArgument = {
  field: 'delivery_id',
  name: 'delivery',
  text: 'id of the delivery',
  finder: deliveryFinder,
}

/** Fields of `config.webhook`. */
const settings: readonly FieldOption[] = [
  { field: 'secret_key', value: 'entry', text: 'vault entry with the token of the sender', finder: vaultFinder },
  { field: 'delivery_id_header', text: 'header with the id of a delivery' },
  { field: 'events', flag: 'event', text: 'only these events, such as issues.opened' },
  { field: 'template' },
  { field: 'conversation' },
  { field: 'rpm_limit', flag: 'rpm' },
]
const preset: FieldOption = { field: 'preset', text: 'how the sender signs' }
const signing: FieldOption = {
  field: 'secret_key',
  flag: 'signing-key',
  value: 'entry',
  text: 'vault entry with the secret that signs; requires --preset',
  finder: vaultFinder,
}

/** Adds `webhooks`. */
export function addWebhookCommands(program: Command, registry: Registry): void {
  const group = addGroup(program, 'webhooks', 'deliveries of other programs to agents, and events to other programs', [
    'switchyard webhooks show triage',
    'switchyard webhooks test triage --payload @issue.json',
  ])
  addSetup(group, registry)
  addTest(group, registry)
  addDeliveries(group, registry)
  addEndpointCommands(group, registry)
}

function addSetup(group: Command, registry: Registry): void {
  addRouteCommand(group, registry, {
    name: 'show',
    route: agentRoutes.get,
    text: 'show the address for the sender and the settings of the webhook of an agent',
    args: [agent],
    show: ({ id, config }, { out, client }) =>
      printFields(out, {
        address: `${client.baseUrl}/api/agents/${id}/webhook`,
        token: `value of vault entry ${webhookOf(config)['secret_key'] ?? `WEBHOOK_${id}_SECRET`}`,
        ...webhookOf(config),
      }),
    examples: ['switchyard webhooks show triage'],
  })
  addRouteCommand(group, registry, {
    name: 'set',
    route: agentRoutes.update,
    text: 'change the webhook of an agent; what is not given stays unchanged',
    args: [agent],
    isPartial: true,
    extend: command => {
      for (const field of settings) addOptions(command, field, WebhookConfig)
      addOptions(command, preset, WebhookSignature)
      addOptions(command, signing, WebhookSignature)
    },
    complete: async (request, { client, args: [agent_id = ''], options }) => ({
      ...request,
      body: await withWebhook(client, agent_id, options),
    }),
    show: done(({ id, version }) => `changed the webhook of ${id} (version ${version})`),
    examples: [
      'switchyard webhooks set triage --preset github --signing-key GITHUB_WEBHOOK --event issues.opened',
      'switchyard webhooks set triage --template @issue.md --conversation github-issue',
    ],
  })
}

const addOptions = (command: Command, field: FieldOption, of: Parameters<typeof schemaOfField>[0]): void => {
  const schema = schemaOfField(of, field.field)
  for (const option of schema ? optionsOfField(field, schema, false) : []) command.addOption(option)
}

const webhookOf = (config: object): Record<string, unknown> =>
  ({ ...(config as { readonly webhook?: object | null }).webhook }) as Record<string, unknown>

/** Returns the update of an agent: the stored webhook with the given options. */
async function withWebhook(client: Client, agent_id: string, options: Readonly<Record<string, unknown>>) {
  const { name, owner_id, config, version } = await client.agents.get({ params: { agent_id } })
  const stored = webhookOf(config)
  const given = Object.fromEntries(
    settings.map(field => [field.field, options[attributeOf(field)]]).filter(([, value]) => value !== undefined),
  )
  const signed = { preset: options['preset'], secret_key: options['signingKey'] }
  const changes = Object.entries(signed).filter(([, value]) => value !== undefined)
  if (changes.length === 0 && Object.keys(given).length === 0)
    throw new CommandFailed('nothing to change; see "switchyard webhooks set --help"', exitCodes.usage)
  const signature =
    changes.length === 0
      ? {}
      : { signature: { ...(stored['signature'] as object | null), ...Object.fromEntries(changes) } }
  return {
    name,
    owner_id: owner_id ?? '',
    expected_version: version,
    config: { webhook: { ...stored, ...given, ...signature } },
  }
}

function addTest(group: Command, registry: Registry): void {
  addRouteCommand(group, registry, {
    name: 'test',
    route: webhookRoutes.check,
    text: 'send a payload through the checks of a webhook; exit code 1 when one fails',
    args: [agent],
    fields: [
      { field: 'payload', text: 'payload as JSON, or @ and the path of a JSON file' },
      { field: 'headers', text: 'headers of the sender as a JSON object' },
      { field: 'run_agent', flag: 'deliver', text: 'also deliver it, which starts a session' },
    ],
    show: ({ ok, checks, preview }, { out }) => {
      for (const { check, outcome, message } of checks) {
        const tone = outcome === 'failed' ? 'bad' : outcome === 'passed' ? 'good' : 'dim'
        out.line({ text: outcome.padEnd(8), tone }, plainText(`${check}: ${message}`))
      }
      if (preview) printFields(out, preview)
      return ok ? undefined : exitCodes.failed
    },
    examples: [
      `switchyard webhooks test triage --payload '{"action": "opened"}' --headers '{"x-github-event": "issues"}'`,
      'switchyard webhooks test triage --payload @issue.json --deliver',
    ],
  })
}

function addDeliveries(group: Command, registry: Registry): void {
  addRouteCommand(group, registry, {
    name: 'deliveries',
    route: webhookRoutes.list,
    text: 'list deliveries to agents, newest first',
    fields: [
      { field: 'agent_id', flag: 'agent', text: 'only deliveries to this agent', finder: agentFinder },
      { field: 'session_id', flag: 'session', text: 'only deliveries of this session', finder: sessionFinder },
      { field: 'status', text: 'only deliveries with this status' },
      { field: 'request_id', flag: 'request', text: 'only the delivery with this id of the sender' },
      { field: 'from' },
      { field: 'to' },
    ],
    show: rows(
      ({ deliveries }) => deliveries,
      [
        ['ID', ({ id }) => id],
        ['STATUS', ({ status }) => status],
        ['RECEIVED', ({ received_at }, now) => ago(received_at, now)],
        ['KIND', ({ kind }) => kind],
        ['SESSION', ({ session_id }) => session_id || '-'],
        ['EVENT', ({ event, error }) => error ?? event ?? ''],
      ],
      { empty: 'No deliveries.', dropFirst: ['SESSION', 'KIND'] },
    ),
    examples: ['switchyard webhooks deliveries --agent triage --status failed'],
  })
  addRouteCommand(group, registry, {
    name: 'delivery',
    route: webhookRoutes.get,
    text: 'show a delivery with its payload',
    args: [delivery],
    show: details(),
    examples: ['switchyard webhooks delivery del_0199'],
  })
  addRouteCommand(group, registry, {
    name: 'replay',
    route: webhookRoutes.replay,
    text: 'deliver a stored payload again',
    args: [delivery],
    show: done(
      ({ id, status, session_id }) =>
        `delivered again as ${id}: ${status}${session_id ? `, session ${session_id}` : ''}`,
    ),
    examples: ['switchyard webhooks replay del_0199'],
  })
}
